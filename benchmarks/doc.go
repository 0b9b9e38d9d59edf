// Package benchmarks holds the benchmark families of policy testing: generators that
// write JANI models of any size, and a few small instances, embedded in the program,
// each with a policy network that is sensible but not safe.
//
//	Families ── Generate(Params) ──► model.jani, property.jani
//	List, Open ── Instance.FS ─────► those and policy.jani2nnet, policy.nnet
//
// The first families are the tasks of “Policy Safety Testing in Non-Deterministic Planning:
// Fuzzing, Test Oracles, Fault Analysis” (Jain et al., ECAI 2025), section 7.1, and the
// racetrack, in encodings of our own:
//
//	one-way-line, two-way-line, beluga, blocksworld, n-puzzle, racetrack: integers, with chance
//	bouncing-ball, follow-car, cart-pole, inverted-pendulum: bounded reals, without
//
// The others are as simple as can be, know the answer by a formula or a proof, and are
// each built to be slow for one way of deciding safety:
//
//	ladder    a search that forgets what it found below an action that failed
//	corridor  one that forgets what it found above a state that failed, time and again
//	wide      one that goes into the many outcomes of an action before it looks at all
//	cycle     both of the latter, or values that spread against the order of the states
//
// The networks of the families are not trained. They are rules that a person can read,
// written as ReLU units, with one mistake that a learner could make as well: what an analysis
// reports can be compared with what the rule says.
//
// Those of the instances NAME-trained are trained, by “make policies”: of networks of several
// sizes the best one that is not safe. trained.json says how, and what they are worth.
//
// suite.json lists tasks of all families in several sizes, for “fuzzsafe compare”.
package benchmarks

//go:generate go test -run ^TestInstanceFiles$ -update
