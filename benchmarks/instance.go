package benchmarks

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing/fstest"
)

// Instance is a task with a policy under test that is not safe: an embedded one, or one
// that Open has generated.
type Instance struct {
	Name   string
	Family string
	Params Params // of the family
	Title  string
	// Description says what the policy does and what is wrong with it, or how it was learned;
	// of a generated instance, it is the Doc of the family.
	Description string
	Training    *Training // nil unless the policy is learned

	files fs.FS // nil if they are embedded
}

// The files of an Instance. A generated one may lack those of the policy.
const (
	ModelFile    = "model.jani"
	PropertyFile = "property.jani"
	PolicyFile   = "policy.jani2nnet" // names NetworkFile
	NetworkFile  = "policy.nnet"
)

//go:embed instances
var files embed.FS

// List returns all embedded instances, always in the same order.
func List() []Instance {
	return append(handmade(), trained()...)
}

// handmade returns the instances whose policies are those of the families.
func handmade() []Instance {
	return []Instance{
		{
			Name:   "one-way-line-det",
			Family: "one-way-line", Params: Params{"variant": "det"},
			Title: "truck on a one-way line",
			Description: "From velocity 3 the policy brakes one location too late. " +
				"It drives past the end, or past a package, which comes to the same: without it the run cannot end well.",
		},
		{
			Name:   "one-way-line-nondet",
			Family: "one-way-line", Params: Params{"variant": "nondet"},
			Title: "truck on a one-way line with ice",
			Description: "The policy drives slowly while loaded, so that it loses nothing. But it brakes on ice as if that could not fail, " +
				"and from velocity 3 one location too late. Some start states cannot be survived for sure, whatever it does.",
		},
		{
			Name:   "one-way-line-park",
			Family: "one-way-line", Params: Params{"variant": "park"},
			Title: "truck on a one-way line with ice and a hand brake",
			Description: "The policy parks at the end of the line, with or without all packages. " +
				"From velocity 3 it brakes one location too late, and on ice as if that could not fail; the hand brake makes up for one location, not for more.",
		},
		{
			Name:   "two-way-line-det",
			Family: "two-way-line", Params: Params{"variant": "det"},
			Title: "truck on a two-way line",
			Description: "The policy fetches the packages on its right and takes them to the left end. " +
				"From velocity 3 it brakes one location too late and drives past an end of the line.",
		},
		{
			Name:   "two-way-line-nondet",
			Family: "two-way-line", Params: Params{"variant": "nondet"},
			Title: "truck on a two-way line with ice",
			Description: "The policy fetches the packages on its right and takes them to the left end. " +
				"It brakes on ice as if that could not fail, and from velocity 3 one location too late.",
		},
		{
			Name:   "two-way-line-park",
			Family: "two-way-line", Params: Params{"variant": "park"},
			Title: "truck on a two-way line with ice and a hand brake",
			Description: "The policy fetches the packages on its right and takes them to the left end. " +
				"From velocity 3 it brakes one location too late, and on ice as if that could not fail; the hand brake makes up for one location, not for more.",
		},
	}
}

// Open returns the embedded instance with a name, or generates one: its name is that of
// a family, or FAMILY:PARAMETER=VALUE,PARAMETER=VALUE,… where the other parameters have
// their defaults, or one in the suite. It has no policy if the family has none for these
// parameters.
func Open(name string) (Instance, error) {
	var names []string
	for _, i := range List() {
		if i.Name == name {
			return i, nil
		}
		names = append(names, i.Name)
	}
	kind, text, given := strings.Cut(name, ":")
	what := "benchmark instance"
	if given {
		what, names = "benchmark family", nil
	}
	for _, f := range Families() {
		if f.Name == kind {
			p, err := parseParams(text, given)
			if err != nil {
				return Instance{}, fmt.Errorf("family %s: %w", kind, err)
			}
			return f.instance(name, p)
		}
		names = append(names, f.Name)
	}
	for _, n := range Suite() {
		if n.Name == name {
			return Open(n.Model)
		}
		if !given {
			names = append(names, n.Name)
		}
	}
	return Instance{}, unknown(what, kind, names)
}

// parseParams reads PARAMETER=VALUE,PARAMETER=VALUE,…
func parseParams(text string, given bool) (Params, error) {
	p := make(Params)
	if !given {
		return p, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not of the form PARAMETER=VALUE", part)
		}
		if _, twice := p[name]; twice {
			return nil, fmt.Errorf("%s is given twice", name)
		}
		p[name] = value
	}
	return p, nil
}

// instance generates the files of a task.
func (f Family) instance(name string, p Params) (Instance, error) {
	model, property, err := f.Generate(p)
	if err != nil {
		return Instance{}, err
	}
	files := fstest.MapFS{ModelFile: {Data: model}, PropertyFile: {Data: property}}
	switch policy, network, err := f.Policy(p); {
	case err == nil:
		files[PolicyFile], files[NetworkFile] = &fstest.MapFile{Data: policy}, &fstest.MapFile{Data: network}
	case !errors.As(err, new(noPolicy)):
		return Instance{}, err
	}
	return Instance{Name: name, Family: f.Name, Params: p, Title: f.Title, Description: f.Doc, files: files}, nil
}

// FS returns the files of an instance that List or Open has returned.
func (i Instance) FS() fs.FS {
	if i.files != nil {
		return i.files
	}
	dir, err := fs.Sub(files, "instances/"+i.Name)
	if err != nil {
		panic("benchmarks: not an instance: " + err.Error())
	}
	return dir
}

// HasPolicy reports whether there is a policy among the files of an instance.
func (i Instance) HasPolicy() bool {
	_, err := fs.Stat(i.FS(), PolicyFile)
	return err == nil
}
