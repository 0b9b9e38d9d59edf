package benchmarks

import (
	"maps"
	"slices"

	"fuzzsafe/nnpolicy"
)

// circuit is a network of ReLU units that are given one by one, in any shape without
// cycles. layers turns it into the fully connected layers of a network file.
type circuit struct {
	units []unit
	lower []float64 // least value of each input
}

// unit is max(0, from), or an input if its layer is 0.
type unit struct {
	layer int
	from  linear
}

// linear is a weighted sum of units plus a constant.
type linear struct {
	constant float64
	weights  map[int]float64 // by unit, none is 0
}

func number(x float64) linear { return linear{constant: x} }

func (a linear) times(x float64) linear {
	product := linear{a.constant * x, make(map[int]float64, len(a.weights))}
	for u, w := range a.weights {
		product.weights[u] = w * x
	}
	return product
}

func (a linear) plus(b linear) linear {
	total := linear{a.constant + b.constant, make(map[int]float64, len(a.weights)+len(b.weights))}
	maps.Copy(total.weights, a.weights)
	for u, w := range b.weights {
		if total.weights[u] += w; total.weights[u] == 0 {
			delete(total.weights, u)
		}
	}
	return total
}

func (a linear) minus(b linear) linear { return a.plus(b.times(-1)) }

// input adds an input with its least value. All inputs come before all units.
func (c *circuit) input(lower float64) linear {
	c.lower = append(c.lower, lower)
	c.units = append(c.units, unit{})
	return linear{weights: map[int]float64{len(c.units) - 1: 1}}
}

// relu adds the unit max(0, a).
func (c *circuit) relu(a linear) linear {
	c.units = append(c.units, unit{c.depth(a) + 1, a})
	return linear{weights: map[int]float64{len(c.units) - 1: 1}}
}

// is returns 1 where a, which must be a whole number, is n, else 0.
func (c *circuit) is(a linear, n int) linear {
	above := func(m int) linear { return c.relu(a.minus(number(float64(m)))) }
	return above(n - 1).minus(above(n).times(2)).plus(above(n + 1))
}

// depth returns the last layer that a reads.
func (c *circuit) depth(a linear) (layer int) {
	for u := range a.weights {
		layer = max(layer, c.units[u].layer)
	}
	return layer
}

// layers returns the layers of the network with the given outputs. A unit that is
// read more than one layer further on is carried: it is not negative, so a ReLU
// leaves it alone; an input is carried as its excess over its least value.
func (c *circuit) layers(outputs ...linear) []nnpolicy.Layer {
	last := 1 // layer of the outputs
	for _, a := range outputs {
		last = max(last, c.depth(a)+1)
	}
	lastUse := make([]int, len(c.units)) // last layer that reads the unit, 0 if none
	use := func(a linear, layer int) {
		for u := range a.weights {
			lastUse[u] = max(lastUse[u], layer)
		}
	}
	for _, a := range outputs {
		use(a, last)
	}
	for u, x := range slices.Backward(c.units) {
		if lastUse[u] > 0 {
			use(x.from, x.layer)
		}
	}

	inputs := len(c.lower)
	column := make(map[int]int, inputs) // of the units that the layer before offers
	for u := range inputs {
		column[u] = u
	}
	var layers []nnpolicy.Layer
	for k := 1; k <= last; k++ {
		var l nnpolicy.Layer
		add := func(a linear) {
			row := make([]float64, len(column))
			bias := a.constant
			for _, u := range slices.Sorted(maps.Keys(a.weights)) {
				row[column[u]] = a.weights[u]
				if u < inputs && k > 1 {
					bias += a.weights[u] * c.lower[u]
				}
			}
			l.Weights, l.Bias = append(l.Weights, row), append(l.Bias, bias+0) // no −0
		}
		next := make(map[int]int)
		for u, x := range c.units {
			switch {
			case lastUse[u] <= k || x.layer > k:
				continue
			case x.layer == k:
				add(x.from)
			case u < inputs:
				add(linear{-c.lower[u], map[int]float64{u: 1}})
			default:
				add(linear{0, map[int]float64{u: 1}})
			}
			next[u] = len(next)
		}
		if k == last {
			for _, a := range outputs {
				add(a)
			}
		}
		column = next
		layers = append(layers, l)
	}
	return layers
}

// newNetwork returns the network whose inputs are the variables of a model, unscaled,
// and whose outputs are the scores of its actions, 0 for those that scores leaves out.
func newNetwork(m *model, scores func(c *circuit, in map[string]linear) map[string]linear) (*nnpolicy.Network, error) {
	var c circuit
	var scale nnpolicy.Scaling
	in := make(map[string]linear)
	for _, v := range m.Variables {
		low, high := 0.0, 1.0 // bool
		if b, ok := v.Type.(bounded); ok {
			low, high = b.Lower, b.Upper
		}
		in[v.Name] = c.input(low)
		scale.Min, scale.Max = append(scale.Min, low), append(scale.Max, high)
		scale.Mean, scale.Range = append(scale.Mean, 0), append(scale.Range, 1)
	}
	scale.OutRange = 1
	wanted := scores(&c, in)
	var outputs []linear
	for _, a := range m.Actions {
		outputs = append(outputs, wanted[a.Name])
	}
	return nnpolicy.NewNetwork(c.layers(outputs...), scale)
}

// switching returns a network that wants one action where a variable is less than
// limit, and another one from there on.
func switching(m *model, variable string, limit int, below, above string) (*nnpolicy.Network, error) {
	return newNetwork(m, func(c *circuit, in map[string]linear) map[string]linear {
		excess := c.relu(in[variable].minus(number(float64(limit - 1))))
		return map[string]linear{below: number(1), above: excess.times(2)}
	})
}
