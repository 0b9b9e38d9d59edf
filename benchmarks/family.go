package benchmarks

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fuzzsafe/jani"
	"fuzzsafe/nnpolicy"
)

// Family is a kind of planning task that comes in any size.
type Family struct {
	Name, Title string
	// Doc says what the task models: what moves, what is unsafe, what the goal is.
	Doc        string
	Parameters []Parameter

	generate func(Params) (*model, *properties, error)
	policy   func(Params, *model) (*nnpolicy.Network, error)
}

// Parameter is a parameter of a Family: one of Values if there are any, else a number
// from Min to Max.
type Parameter struct {
	Name, Doc string
	Default   string
	Values    []string
	Min, Max  int
}

// Params are values of a family's parameters by name. What is absent has its default.
type Params map[string]string

// Families returns all families: the planning domains and control problems that policies
// are tested with, and behind them those that are built to tell apart the algorithms that
// decide safety.
func Families() []Family {
	return []Family{
		oneWayLine(), twoWayLine(), beluga(), blocksworld(), nPuzzle(), racetrack(),
		bouncingBall(), followCar(), cartPole(), invertedPendulum(),
		ladder(), corridor(), wide(), cycle(),
	}
}

// noPolicy says why a family has no policy for some parameters.
type noPolicy string

func (why noPolicy) Error() string { return string(why) }

// Generate returns a JANI model and its property file, which holds one planning
// property. Equal parameters give equal bytes.
func (f Family) Generate(p Params) (model, property []byte, err error) {
	_, m, prop, err := f.build(p)
	if err != nil {
		return nil, nil, err
	}
	if model, err = render(m); err != nil {
		return nil, nil, err
	}
	property, err = render(prop)
	return model, property, err
}

// Policy returns the policy interface and the network of a policy for the task that
// Generate returns; the interface refers to the network as NetworkFile.
func (f Family) Policy(p Params) (policy, network []byte, err error) {
	p, m, _, err := f.build(p)
	if err != nil {
		return nil, nil, err
	}
	n, err := f.policy(p, m)
	if err != nil {
		return nil, nil, fmt.Errorf("policy of family %s: %w", f.Name, err)
	}
	var text bytes.Buffer
	if err := n.WriteNNet(&text); err != nil {
		return nil, nil, err
	}
	policy, err = render(newNetworkInterface(m, n))
	return policy, text.Bytes(), err
}

// build returns the task together with the completed parameters.
func (f Family) build(p Params) (Params, *model, *properties, error) {
	p, err := f.complete(p)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("family %s: %w", f.Name, err)
	}
	m, prop, err := f.generate(p)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("family %s: %w", f.Name, err)
	}
	return p, m, prop, nil
}

// complete checks the values of parameters and adds the defaults.
func (f Family) complete(p Params) (Params, error) {
	all := make(Params, len(f.Parameters))
	var names []string
	for _, q := range f.Parameters {
		names = append(names, q.Name)
		value, given := p[q.Name]
		if !given {
			value = q.Default
		}
		if err := q.check(value); err != nil {
			return nil, err
		}
		all[q.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if _, known := all[name]; !known {
			return nil, unknown("parameter", name, names)
		}
	}
	return all, nil
}

func (q Parameter) check(value string) error {
	if len(q.Values) > 0 {
		if !slices.Contains(q.Values, value) {
			return unknown(q.Name, value, q.Values)
		}
		return nil
	}
	if n, err := strconv.Atoi(value); err != nil || n < q.Min || n > q.Max {
		return fmt.Errorf("%s is %q, it must be a number from %d to %d", q.Name, value, q.Min, q.Max)
	}
	return nil
}

// number returns a numeric parameter of completed Params.
func (p Params) number(name string) int {
	n, err := strconv.Atoi(p[name])
	if err != nil {
		panic(fmt.Sprintf("benchmarks: parameter %s is not a number: %v", name, err))
	}
	return n
}

// unknown is the error for a name that is not among the known ones.
func unknown(what, name string, known []string) error {
	hint := jani.DidYouMean(name, known)
	if hint == "" {
		hint = "there are " + strings.Join(known, ", ")
	}
	return fmt.Errorf("unknown %s %q (%s)", what, name, hint)
}
