// Package benchmarks holds the benchmark families of policy testing: generators that
// write JANI models of any size, and a few small instances, embedded in the program,
// each with a policy network that is sensible but not safe.
//
//	Families ── Generate(Params) ──► model.jani, property.jani
//	List, Open ── Instance.FS ─────► those and policy.jani2nnet, policy.nnet
//
// The networks are not trained. They are driving rules that a person can read,
// written as ReLU units, with one mistake that a learner could make as well: what an
// analysis reports can be compared with what the rule says.
package benchmarks

//go:generate go test -run ^TestInstanceFiles$ -update
