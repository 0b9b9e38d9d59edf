package benchmarks

import (
	"embed"
	"io/fs"
)

// Instance is an embedded task with a policy under test that is not safe.
type Instance struct {
	Name   string
	Family string
	Params Params // of the family
	Title  string
	// Description says what the policy does and what is wrong with it.
	Description string
}

// The files of an Instance.
const (
	ModelFile    = "model.jani"
	PropertyFile = "property.jani"
	PolicyFile   = "policy.jani2nnet" // names NetworkFile
	NetworkFile  = "policy.nnet"
)

//go:embed instances
var files embed.FS

// List returns all instances, always in the same order.
func List() []Instance {
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

// Open returns the instance with a name.
func Open(name string) (Instance, error) {
	var names []string
	for _, i := range List() {
		if i.Name == name {
			return i, nil
		}
		names = append(names, i.Name)
	}
	return Instance{}, unknown("benchmark instance", name, names)
}

// FS returns the files of an instance that List or Open has returned.
func (i Instance) FS() fs.FS {
	dir, err := fs.Sub(files, "instances/"+i.Name)
	if err != nil {
		panic("benchmarks: not an instance: " + err.Error())
	}
	return dir
}
