package nnpolicy

// Function is what a policy computes: one number per output from one number per input,
// the larger the better. Network and Table implement it. Unless an output is −Inf, which
// means that there is none (see engine.Policy), it is finite.
type Function interface {
	Inputs() int  // number of inputs
	Outputs() int // number of outputs
	// Evaluate writes the outputs for the given inputs; the lengths must be Inputs and
	// Outputs. It allocates nothing. It may work in a buffer of its own, so that one
	// Function must not be used by several goroutines at once.
	Evaluate(in, out []float64) error
	// Fork returns the same function for use by another goroutine. What is not changed
	// by Evaluate is shared.
	Fork() Function
}

// Fork is Clone.
func (n *Network) Fork() Function { return n.Clone() }
