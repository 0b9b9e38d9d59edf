package nnpolicy

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/gonum"
)

// learner is a network in training: layers, the values that the last forward pass left
// in them, and gradients. It works on batches of up to size states, on one goroutine and in
// a fixed order: equal calls give equal bits on processors of a kind.
type learner struct {
	layers  []dense
	values  [][]float32 // values[0] are the inputs, values[k] the outputs of layer k, counted from 1
	errors  [][]float32 // gradient of the loss by each of values
	slopes  []dense     // gradient of the loss by each weight
	moments [2][]dense  // of the slopes, for Adam
	updates int
	turned  []float32 // scratch: values state by state
}

// newLearner returns a network with the given sizes whose weights are drawn from the normal
// distribution with variance 2/inputs (He et al., "Delving Deep into Rectifiers", 2015), the
// last ones from a tenth of it, so that the first values are near zero.
func newLearner(sizes []int, batch int, rng *rand.Rand) *learner {
	l := &learner{}
	zero := func() (layers []dense) {
		for k := 1; k < len(sizes); k++ {
			layers = append(layers, newDense(sizes[k-1], sizes[k]))
		}
		return layers
	}
	l.layers, l.slopes, l.moments = zero(), zero(), [2][]dense{zero(), zero()}
	for k := range l.layers {
		scale := math.Sqrt(2 / float64(sizes[k]))
		if k == len(l.layers)-1 {
			scale /= 10
		}
		for i := range l.layers[k].weights {
			l.layers[k].weights[i] = float32(rng.NormFloat64() * scale)
		}
	}
	l.turned = make([]float32, slices.Max(sizes)*batch)
	for _, size := range sizes {
		l.values = append(l.values, make([]float32, size*batch))
		l.errors = append(l.errors, make([]float32, size*batch))
	}
	return l
}

// frozen returns a copy of the weights with values of its own.
func (l *learner) frozen() *learner {
	c := &learner{}
	for _, d := range l.layers {
		c.layers = append(c.layers, dense{d.inputs, slices.Clone(d.weights), slices.Clone(d.bias)})
	}
	for _, v := range l.values {
		c.values = append(c.values, make([]float32, len(v)))
	}
	return c
}

// copyFrom takes over the weights of a learner of the same sizes.
func (l *learner) copyFrom(other *learner) {
	for k, d := range other.layers {
		copy(l.layers[k].weights, d.weights)
		copy(l.layers[k].bias, d.bias)
	}
}

// forward computes the values for n states from the inputs in values[0] and returns those
// of the outputs.
func (l *learner) forward(n int) []float32 {
	last := len(l.layers) - 1
	for k := range l.layers {
		l.layers[k].forward(n, l.values[k], l.values[k+1], k < last)
	}
	return l.values[last+1]
}

// forwardOne is forward for one state, without the costs of vectors of length 1.
func (l *learner) forwardOne() []float32 {
	last := len(l.layers) - 1
	for k := range l.layers {
		d, x, y := &l.layers[k], l.values[k][:l.layers[k].inputs], l.values[k+1]
		for o, b := range d.bias {
			sum := b
			for j, w := range d.weights[o*len(x):][:len(x)] {
				sum += w * x[j]
			}
			if y[o] = sum; k < last {
				y[o] = max(sum, 0)
			}
		}
	}
	return l.values[last+1]
}

// backward computes the slopes from the values of the last forward pass over n states and
// the gradient by the outputs, errors[len(layers)]. It adds vectors and takes no scalar
// products: gonum sums those in an order that depends on where in memory they start.
func (l *learner) backward(n int) {
	var blas gonum.Implementation
	for k := len(l.layers) - 1; k >= 0; k-- {
		d, slope, x := &l.layers[k], &l.slopes[k], l.values[k]
		for j := range d.inputs {
			for i, v := range x[j*n:][:n] {
				l.turned[i*d.inputs+j] = v
			}
		}
		below := l.errors[k][:d.inputs*n]
		clear(below)
		for o := range d.bias {
			row := slope.weights[o*d.inputs:][:d.inputs]
			clear(row)
			e := l.errors[k+1][o*n:][:n]
			sum := float32(0)
			for i, v := range e {
				sum += v
				blas.Saxpy(d.inputs, v, l.turned[i*d.inputs:], 1, row, 1) // at once if v is 0
			}
			slope.bias[o] = sum
			if k == 0 {
				continue // nobody asks for the gradient by the inputs
			}
			for j, w := range d.weights[o*d.inputs:][:d.inputs] {
				blas.Saxpy(n, w, e, 1, below[j*n:], 1)
			}
		}
		if k > 0 {
			for i, v := range x[:len(below)] {
				if v <= 0 { // the ReLU was flat
					below[i] = 0
				}
			}
		}
	}
}

// step moves the weights against the slopes (Kingma & Ba, "Adam: A Method for Stochastic
// Optimization", 2015, Algorithm 1, in the order of computation at the end of its section 2).
func (l *learner) step(rate float64) {
	const decay1, decay2, epsilon = 0.9, 0.999, 1e-8
	l.updates++
	t := float64(l.updates)
	rate *= math.Sqrt(1-math.Pow(decay2, t)) / (1 - math.Pow(decay1, t))
	r := float32(rate)
	move := func(w, slope, mean, square []float32) {
		mean, square, slope = mean[:len(w)], square[:len(w)], slope[:len(w)]
		for i, g := range slope {
			m := decay1*mean[i] + (1-decay1)*g
			s := decay2*square[i] + (1-decay2)*g*g
			mean[i], square[i] = m, s
			w[i] -= r * m / (float32(math.Sqrt(float64(s))) + epsilon)
		}
	}
	for k := range l.layers {
		d, g, m, s := &l.layers[k], &l.slopes[k], &l.moments[0][k], &l.moments[1][k]
		move(d.weights, g.weights, m.weights, s.weights)
		move(d.bias, g.bias, m.bias, s.bias)
	}
}

// network returns a Network with the present weights.
func (l *learner) network(s Scaling) (*Network, error) {
	var layers []Layer
	for _, d := range l.layers {
		var layer Layer
		for o, b := range d.bias {
			row := make([]float64, d.inputs)
			for j, w := range d.weights[o*d.inputs:][:d.inputs] {
				row[j] = float64(w)
			}
			layer.Weights, layer.Bias = append(layer.Weights, row), append(layer.Bias, float64(b))
		}
		layers = append(layers, layer)
	}
	return NewNetwork(layers, s)
}
