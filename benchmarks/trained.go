package benchmarks

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Training says how the policy of an instance was learned and how good it is. “make policies”
// writes it to trained.json, together with the files of the instance.
type Training struct {
	Name string `json:"name"` // of the instance
	Task string `json:"task"` // what Open generates it from
	// Arguments are those of fuzzsafe but for --output. With the same version of the program,
	// on a processor of the same kind, they give the same bytes again.
	Arguments string   `json:"arguments"`
	Widths    []string `json:"widths"`  // of the hidden layer, that were tried with these arguments
	Episode   int      `json:"episode"` // after so many, the network was at its best

	// Greedy runs, whose outcomes are drawn uniformly, other ones than those that have
	// chosen the network; and as many runs of random actions.
	Runs         int `json:"runs"`
	Goal         int `json:"goal"`
	Unsafe       int `json:"unsafe"`
	RandomGoal   int `json:"random_goal"`
	RandomUnsafe int `json:"random_unsafe"`

	Fuzz Fuzzing `json:"fuzz"`
}

// Fuzzing is what “fuzzsafe run” without options finds.
type Fuzzing struct {
	Runs      int `json:"runs"`
	Unsafe    int `json:"unsafe"`
	Avoidable int `json:"avoidable"` // unsafe runs from a safe start
	Faults    int `json:"faults"`
}

//go:embed trained.json
var trainings string

// trained returns the instances whose policies are learned.
func trained() []Instance {
	var records []Training
	if err := json.Unmarshal([]byte(trainings), &records); err != nil {
		panic("benchmarks: trained.json: " + err.Error())
	}
	var list []Instance
	for _, r := range records {
		i, err := r.instance()
		if err != nil {
			panic("benchmarks: trained.json: " + err.Error())
		}
		list = append(list, i)
	}
	return list
}

func (r *Training) instance() (Instance, error) {
	kind, text, given := strings.Cut(r.Task, ":")
	p, err := parseParams(text, given)
	if err != nil {
		return Instance{}, err
	}
	for _, f := range Families() {
		if f.Name == kind {
			return Instance{Name: r.Name, Family: kind, Params: p, Title: f.Title + " (policy learned)", Description: r.describe(), Training: r}, nil
		}
	}
	return Instance{}, fmt.Errorf("there is no family %q", kind)
}

func (r *Training) describe() string {
	return fmt.Sprintf("Deep Q-learning: fuzzsafe %s --output policy. Of the widths %s, this one gave the best policy with faults to find, "+
		"the one after %d episodes: of %d greedy runs %d reach a goal and %d are unsafe; with random actions %d reach one and %d are unsafe. "+
		"Of %d fuzzed runs %d are unsafe, of which %d could have been avoided; faults: %d.",
		r.Arguments, strings.Join(r.Widths, ", "), r.Episode, r.Runs, r.Goal, r.Unsafe, r.RandomGoal, r.RandomUnsafe,
		r.Fuzz.Runs, r.Fuzz.Unsafe, r.Fuzz.Avoidable, r.Fuzz.Faults)
}
