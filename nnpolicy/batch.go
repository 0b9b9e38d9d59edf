package nnpolicy

import (
	"fmt"

	"gonum.org/v1/gonum/blas/gonum"
)

// EvaluateBatch is Evaluate for count states, one after the other in in and out: the same
// results to the last bit, whatever the count. An error names the first state that has
// one, counted from 0. There is no gain over single calls, for which the weights of usual
// networks stay in the cache and zeros are left out; Single is for speed.
func (n *Network) EvaluateBatch(count int, in, out []float64) error {
	if err := checkBatch(n, count, in, out); err != nil {
		return err
	}
	for s := range count {
		if err := n.Evaluate(in[s*n.Inputs():][:n.Inputs()], out[s*n.Outputs():][:n.Outputs()]); err != nil {
			return fmt.Errorf("state %d: %w", s, err)
		}
	}
	return nil
}

// shape is the size of a network.
type shape interface {
	Inputs() int
	Outputs() int
}

func checkBatch(f shape, count int, in, out []float64) error {
	if count < 0 || len(in) != count*f.Inputs() || len(out) != count*f.Outputs() {
		return fmt.Errorf("a network of %d inputs and %d outputs is evaluated in %d states with %d and %d",
			f.Inputs(), f.Outputs(), count, len(in), len(out))
	}
	return nil
}

// block is how many states Single computes at a time: so many that a call of the linear
// algebra costs little, and so few that two layers of usual widths stay in the cache.
const block = 256

// Single is a Network with weights and arithmetic in float32, for many states at once.
// Decisions are not made with it: a network file gives its weights as decimal numbers, and
// Network is their meaning. A Single is for one goroutine at a time.
type Single struct {
	scaling Scaling
	layers  []dense
	x, y    []float32 // input and output of a layer for a block of states
}

// Single returns the network in single precision.
func (n *Network) Single() *Single {
	s := &Single{scaling: n.scaling}
	sizes := n.Sizes()
	width := 0
	for k, l := range n.layers {
		d := newDense(sizes[k], sizes[k+1])
		for o, b := range l.bias {
			d.bias[o] = float32(b)
			for j := range d.inputs {
				d.weights[o*d.inputs+j] = float32(l.weights[j*len(l.bias)+o])
			}
		}
		s.layers = append(s.layers, d)
		width = max(width, sizes[k], sizes[k+1])
	}
	s.x, s.y = make([]float32, width*block), make([]float32, width*block)
	return s
}

// Inputs returns the number of inputs.
func (s *Single) Inputs() int { return len(s.scaling.Min) }

// Outputs returns the number of outputs.
func (s *Single) Outputs() int { return len(s.layers[len(s.layers)-1].bias) }

// EvaluateBatch is Network.EvaluateBatch in single precision. The inputs are scaled in
// float64. A neuron is its bias plus the products of its inputs in ascending order, as in
// Network, so that the results for a state do not depend on the other states or on their
// number; but unlike there they may differ in the last bits between kinds of processors,
// some of which round a product and its sum together.
func (s *Single) EvaluateBatch(count int, in, out []float64) error {
	if err := checkBatch(s, count, in, out); err != nil {
		return err
	}
	inputs, outputs := s.Inputs(), s.Outputs()
	for first := 0; first < count; first += block {
		n := min(block, count-first)
		for i := range inputs {
			row := s.x[i*n:][:n]
			for k := range row {
				row[k] = float32(s.scaling.input(i, in[(first+k)*inputs+i]))
			}
		}
		x, y := s.x, s.y
		for k := range s.layers {
			s.layers[k].forward(n, x, y, k < len(s.layers)-1)
			x, y = y, x
		}
		for k := range n {
			for o := range outputs {
				y := float64(float64(x[o*n+k])*s.scaling.OutRange) + s.scaling.OutMean
				if !finite(y) {
					return fmt.Errorf("state %d: output %d of the network is %v", first+k, o, y)
				}
				out[(first+k)*outputs+o] = y
			}
		}
	}
	return nil
}

// dense is a layer in single precision: those of neuron o are
// weights[o·inputs : (o+1)·inputs]. What it works on holds the values of n states neuron by
// neuron: those of neuron o are x[o·n : (o+1)·n].
type dense struct {
	inputs        int
	weights, bias []float32
}

func newDense(inputs, outputs int) dense {
	return dense{inputs, make([]float32, inputs*outputs), make([]float32, outputs)}
}

// forward computes the layer for n states from x to y, with a ReLU if cut is set.
func (d *dense) forward(n int, x, y []float32, cut bool) {
	var blas gonum.Implementation
	for o, b := range d.bias {
		sum := y[o*n:][:n]
		for i := range sum {
			sum[i] = b
		}
		for j, w := range d.weights[o*d.inputs:][:d.inputs] {
			blas.Saxpy(n, w, x[j*n:], 1, sum, 1)
		}
		if cut {
			for i, v := range sum {
				sum[i] = max(v, 0)
			}
		}
	}
}
