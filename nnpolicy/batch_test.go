package nnpolicy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// batchOf returns a random network and inputs for count states.
func batchOf(t testing.TB, seed uint64, count int, sizes ...int) (*Network, []float64) {
	r := rand.New(rand.NewPCG(seed, 9))
	n := newNetwork(t, random(r, sizes...), identity(sizes[0], -8, 8))
	in := make([]float64, count*sizes[0])
	for i := range in {
		in[i] = float64(r.IntN(17) - 8)
	}
	return n, in
}

// split evaluates a batch in parts of the given size.
func split(f func(count int, in, out []float64) error, size, count, inputs, outputs int, in []float64) ([]float64, error) {
	out := make([]float64, count*outputs)
	for k := 0; k < count; k += size {
		n := min(size, count-k)
		if err := f(n, in[k*inputs:][:n*inputs], out[k*outputs:][:n*outputs]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// How states are put together in batches, and which goroutine evaluates them, does not
// change a bit; in double precision the batch is Evaluate.
func TestEvaluateBatch(t *testing.T) {
	for k, sizes := range [][]int{{3, 4}, {14, 64, 64, 5}, {1, 7, 1}, {20, 33, 17, 9}, {5, 130, 3}} {
		const count = 2*block + 3
		n, in := batchOf(t, uint64(k), count, sizes...)
		inputs, outputs := n.Inputs(), n.Outputs()
		want := make([]float64, count*outputs)
		for s := range count {
			if err := n.Evaluate(in[s*inputs:][:inputs], want[s*outputs:][:outputs]); err != nil {
				t.Fatal(err)
			}
		}
		var first []float64
		var wait sync.WaitGroup
		var mutex sync.Mutex
		for _, size := range []int{count, 1, 2, 7, 64, block - 1, block, block + 1} {
			wait.Go(func() {
				got, err := split(n.Clone().EvaluateBatch, size, count, inputs, outputs, in)
				single, wrong := split(n.Single().EvaluateBatch, size, count, inputs, outputs, in)
				mutex.Lock()
				defer mutex.Unlock()
				if err != nil || wrong != nil {
					t.Errorf("sizes %v, batches of %d: %v, %v", sizes, size, err, wrong)
					return
				}
				if !slices.Equal(got, want) {
					t.Errorf("sizes %v, batches of %d: other results than one by one", sizes, size)
				}
				if first == nil {
					first = single
				}
				if !slices.Equal(single, first) {
					t.Errorf("sizes %v, batches of %d: other results in single precision than in other batches", sizes, size)
				}
			})
		}
		wait.Wait()
		different := false
		for i, x := range first {
			if math.Abs(x-want[i]) > 1e-4*(1+math.Abs(want[i])) {
				t.Errorf("sizes %v: output %d is %v in single precision, want about %v", sizes, i, x, want[i])
			}
			different = different || x != want[i]
		}
		if !different {
			t.Errorf("sizes %v: single precision is not single", sizes)
		}
	}
}

func TestSingleScaling(t *testing.T) {
	n := newNetwork(t, []Layer{{[][]float64{{1}, {-0.5}}, []float64{0, 0.25}}},
		Scaling{Min: []float64{-1}, Max: []float64{3}, Mean: []float64{1}, Range: []float64{2}, OutMean: 10, OutRange: 4})
	out := make([]float64, 6)
	if err := n.Single().EvaluateBatch(3, []float64{2, 7, -7}, out); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(out); got != "[12 10 14 9 6 13]" {
		t.Errorf("outputs are %s", got)
	}
}

func TestEvaluateBatchErrors(t *testing.T) {
	n, in := batchOf(t, 1, 4, 2, 3, 2)
	out := make([]float64, 8)
	bad := slices.Clone(in)
	bad[5] = math.NaN()
	huge := newNetwork(t, []Layer{{[][]float64{{1e200, 0}, {0, 1}}, []float64{0, 0}}}, identity(2, -8, 8))
	for _, c := range []struct {
		name    string
		f       func(count int, in, out []float64) error
		count   int
		in, out []float64
		want    string
	}{
		{"inputs", n.EvaluateBatch, 4, in[1:], out, "2 inputs and 2 outputs is evaluated in 4 states with 7 and 8"},
		{"outputs", n.Single().EvaluateBatch, 4, in, out[:6], "evaluated in 4 states with 8 and 6"},
		{"negative", n.EvaluateBatch, -1, nil, nil, "in -1 states"},
		{"NaN", n.EvaluateBatch, 4, bad, out, "state 2: output 0 of the network is NaN"},
		{"NaN in single precision", n.Single().EvaluateBatch, 4, bad, out, "state 2: output 0 of the network is NaN"},
		{"too large for single precision", huge.Single().EvaluateBatch, 1, in[:2], out[:2], "state 0: output 0 of the network is "},
	} {
		if err := c.f(c.count, c.in, c.out); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if err := n.EvaluateBatch(0, nil, nil); err != nil {
		t.Error(err)
	}
}

// BenchmarkEvaluate compares the ways to evaluate a network of two equal hidden layers in
// 256 states: neuron by neuron as the definition says, one state at a time, and in single
// precision.
func BenchmarkEvaluate(b *testing.B) {
	for _, hidden := range []int{16, 32, 64, 128, 256} {
		const count, inputs, outputs = 256, 14, 8
		n, in := batchOf(b, 3, count, inputs, hidden, hidden, outputs)
		layers := random(rand.New(rand.NewPCG(3, 9)), inputs, hidden, hidden, outputs)
		out := make([]float64, count*outputs)
		for _, c := range []struct {
			name string
			f    func(count int, in, out []float64) error
		}{
			{"loops", func(_ int, in, out []float64) error {
				for s := range count {
					copy(out[s*outputs:], plain(layers, in[s*inputs:][:inputs]))
				}
				return nil
			}},
			{"double", n.EvaluateBatch},
			{"single", n.Single().EvaluateBatch},
		} {
			b.Run(fmt.Sprintf("%d-%d/%s", hidden, hidden, c.name), func(b *testing.B) {
				for b.Loop() {
					if err := c.f(count, in, out); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*count/b.Elapsed().Seconds(), "evaluations/s")
			})
		}
	}
}
