package certificate_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/engine/enginetest"
	"fuzzsafe/jani"
)

// FuzzRead feeds texts to the reader and the verifier of one small system. They are refused
// with a place, or what they claim is true.
func FuzzRead(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 0))
	sys := enginetest.Random(rng, enginetest.Config{States: 7, Actions: 3, Outcomes: 2, Unsafe: 0.25, Goal: 0.1, Terminal: 0.1})
	p := newProblem(f, sys, engine.ByLabel)
	for _, r := range radii {
		claims, j := verdicts(sys, r, []int{0, 1, 2, 3, 4, 5, 6})
		text, err := p.certify(r, claims, p.faults(j, r))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(strings.Replace(text, `"value":1`, `"value":2`, 1))
		f.Add(strings.Replace(text, `"bound":1`, `"bound":0`, 1))
	}
	f.Add(`{"schema":"fuzzsafe.certificate/1"}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := p.verify(t, text)
		if err != nil {
			if e := (*jani.Error)(nil); !errors.As(err, &e) || e.Error() == "" {
				t.Fatalf("the error %v has no place", err)
			}
			return
		}
		lines := strings.Split(text, "\n")
		r, err := algorithms.ParseRadius(gjson.Get(lines[0], "radius").Str)
		if err != nil {
			t.Fatal(err)
		}
		if r > 100 {
			return // too slow for the naive fixpoint
		}
		j := enginetest.Fixpoint(sys, int(r))
		safe := func(state gjson.Result) bool { return j[state.Get("0").Int()] <= max(int(r), 0) }
		for _, l := range lines {
			v := gjson.Parse(l)
			switch claim := v.Get("claim").Str; {
			case claim != "" && safe(v.Get("state")) != (claim != "unsafe"),
				claim == "fault" && safe(v.Get("outcome")):
				t.Fatalf("%s is accepted and not true", l)
			}
		}
	})
}
