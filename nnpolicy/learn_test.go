package nnpolicy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// small returns a learner with random biases, too, and n inputs.
func small(seed uint64, n int, sizes ...int) (*learner, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, 11))
	l := newLearner(sizes, n, r)
	for k := range l.layers {
		for o := range l.layers[k].bias {
			l.layers[k].bias[o] = float32(r.NormFloat64() / 4)
		}
	}
	for i := range l.values[0] {
		l.values[0][i] = float32(r.NormFloat64())
	}
	return l, r
}

// loss is a weighted sum of the outputs for n states, in double precision.
func loss(t *testing.T, l *learner, n int, weights []float32) float64 {
	inputs := l.layers[0].inputs
	net, err := l.network(identity(inputs, -100, 100))
	if err != nil {
		t.Fatal(err)
	}
	in, out := make([]float64, inputs), make([]float64, net.Outputs())
	sum := 0.0
	for i := range n {
		for j := range in {
			in[j] = float64(l.values[0][j*n+i])
		}
		if err := net.Evaluate(in, out); err != nil {
			t.Fatal(err)
		}
		for o, y := range out {
			sum += y * float64(weights[o*n+i])
		}
	}
	return sum
}

// The slopes are those that small changes of each weight and bias show. Where the changes
// up and down disagree, a ReLU bends in between.
func TestGradient(t *testing.T) {
	for seed := range uint64(5) {
		const n = 6
		l, r := small(seed, n, 5, 9, 7, 3)
		slope := l.errors[len(l.layers)]
		for i := range slope {
			slope[i] = float32(r.NormFloat64())
		}
		l.forward(n)
		l.backward(n)
		at := loss(t, l, n, slope)
		checked, bent := 0, 0
		for k := range l.layers {
			for _, part := range []struct{ weights, slopes []float32 }{
				{l.layers[k].weights, l.slopes[k].weights}, {l.layers[k].bias, l.slopes[k].bias},
			} {
				for i, w := range part.weights {
					const h = 1.0 / 4096
					part.weights[i] = w + h
					up := (loss(t, l, n, slope) - at) / (float64(part.weights[i]) - float64(w))
					part.weights[i] = w - h
					down := (loss(t, l, n, slope) - at) / (float64(part.weights[i]) - float64(w))
					part.weights[i] = w
					if math.Abs(up-down) > 1e-6*(1+math.Abs(up)) {
						bent++
						continue
					}
					checked++
					if got := float64(part.slopes[i]); math.Abs(got-up) > 1e-4*(1+math.Abs(up)) {
						t.Errorf("seed %d, layer %d, number %d: slope %v, want %v", seed, k, i, got, up)
					}
				}
			}
		}
		if checked < 10*bent {
			t.Errorf("seed %d: %d slopes checked, but %d not", seed, checked, bent)
		}
	}
}

func TestForwardOne(t *testing.T) {
	l, _ := small(3, 1, 6, 10, 4)
	want := append([]float32(nil), l.forward(1)[:4]...)
	for i, y := range l.forwardOne()[:4] {
		if math.Abs(float64(y-want[i])) > 1e-5 {
			t.Errorf("output %d is %v alone, %v in a batch", i, y, want[i])
		}
	}
}

// The steps are those of the algorithm in the paper, computed here with its own names.
func TestAdam(t *testing.T) {
	l, _ := small(1, 1, 1, 1)
	l.layers[0].weights[0] = 0.5
	const alpha, beta1, beta2, epsilon = 0.01, 0.9, 0.999, 1e-8
	theta, m, v := 0.5, 0.0, 0.0
	for step := 1; step <= 50; step++ {
		g := math.Sin(float64(step)) + 0.3
		l.slopes[0].weights[0] = float32(g)
		l.step(alpha)
		m = beta1*m + (1-beta1)*g
		v = beta2*v + (1-beta2)*g*g
		meanHat, squareHat := m/(1-math.Pow(beta1, float64(step))), v/(1-math.Pow(beta2, float64(step)))
		theta -= alpha * meanHat / (math.Sqrt(squareHat) + epsilon)
		if got := float64(l.layers[0].weights[0]); math.Abs(got-theta) > 1e-5 {
			t.Fatalf("step %d: the weight is %v, want %v", step, got, theta)
		}
	}
}

// A network with a hidden layer learns what one without cannot: exclusive or.
func TestLearnExclusiveOr(t *testing.T) {
	const n = 4
	l, _ := small(7, n, 2, 8, 1)
	x, want := []float32{0, 0, 1, 1, 0, 1, 0, 1}, []float32{0, 1, 1, 0}
	square := 0.0
	for range 1500 {
		copy(l.values[0], x)
		square = 0
		for i, y := range l.forward(n)[:n] {
			e := y - want[i]
			l.errors[len(l.layers)][i] = e
			square += float64(e * e)
		}
		l.backward(n)
		l.step(0.01)
	}
	if square > 1e-4 {
		t.Errorf("the squared error is %v", square)
	}
}
