package nnpolicy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"fuzzsafe/jani"
)

const (
	interfaceExt = ".jani2nnet"
	networkExt   = ".nnet"
	jsonExt      = ".json"
)

// Load reads a policy for a model from a file:
//
//   - NAME.jani2nnet, an interface, which names the file of the function relative to its
//     folder;
//   - NAME.nnet, a network; its interface is NAME.jani2nnet if that file exists, else
//     the inputs are the variables of the model in model order, without locations, and
//     the outputs its action labels in model order, without the silent action;
//   - NAME.json, a decision table (see ReadTable), which says itself what its inputs and
//     outputs are; an interface that names it must say the same.
//
// A defect in a file is a *jani.Error with its place, another kind of file one of Kind
// Unsupported; a file that cannot be read is an error that wraps the cause.
func Load(m *jani.Model, file string) (*Policy, error) {
	return load(m, filepath.ToSlash(file), os.ReadFile)
}

// LoadFS is Load for a file system, such as embedded benchmark instances.
func LoadFS(m *jani.Model, fsys fs.FS, file string) (*Policy, error) {
	return load(m, file, func(name string) ([]byte, error) { return fs.ReadFile(fsys, name) })
}

func load(m *jani.Model, file string, read func(name string) ([]byte, error)) (*Policy, error) {
	var i *Interface
	named := file
	switch ext := path.Ext(file); ext {
	case interfaceExt:
		text, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("policy interface: %w", err)
		}
		if i, err = ReadInterface(jani.NewSource(file, text)); err != nil {
			return nil, err
		}
		if named = i.File; !path.IsAbs(named) {
			named = path.Join(path.Dir(file), named)
		}
		if ext := path.Ext(named); ext != networkExt && ext != jsonExt {
			return nil, unsupported(i.FilePos, named)
		}
	case networkExt:
		beside := strings.TrimSuffix(file, ext) + interfaceExt
		text, err := read(beside)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			i = modelInterface(m, beside)
		case err != nil:
			return nil, fmt.Errorf("policy interface: %w", err)
		default:
			if i, err = ReadInterface(jani.NewSource(beside, text)); err != nil {
				return nil, err
			}
			if path.Base(i.File) != path.Base(file) {
				i.Warnings = append(i.Warnings, jani.Warning{
					Pos: i.FilePos,
					Msg: fmt.Sprintf("the interface is for network %q; it is used with %q", i.File, file),
				})
			}
		}
	case jsonExt:
	default:
		return nil, unsupported(jani.Pos{}, file)
	}
	text, err := read(named)
	if err != nil && named != file {
		return nil, badInput(i.FilePos, "the network file cannot be read: %v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("policy network: %w", err)
	}
	src := jani.NewSource(named, text)
	if path.Ext(named) == jsonExt {
		return loadTable(m, i, src)
	}
	n, err := ReadNNet(src)
	if err != nil {
		return nil, err
	}
	p, err := Bind(m, i, n)
	if err != nil {
		return nil, err
	}
	p.NetworkFile = named
	return p, nil
}

// loadTable reads a decision table; i is the interface that names it, nil if none does.
func loadTable(m *jani.Model, i *Interface, src *jani.Source) (*Policy, error) {
	t, warnings, err := ReadTable(m, src, jani.Limits{})
	if err != nil {
		return nil, err
	}
	own := bindTable(m, t, src, warnings)
	if i == nil {
		return own, nil
	}
	p, err := Bind(m, i, t)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(p.inputs, own.inputs) || !slices.Equal(p.outputs, own.outputs) {
		return nil, badInput(i.FilePos, "the table %q has other inputs or outputs than the interface, or in another order", i.File)
	}
	p.NetworkFile = src.Name
	p.Warnings = append(p.Warnings, warnings...)
	return p, nil
}

func unsupported(pos jani.Pos, file string) error {
	return &jani.Error{
		Kind: jani.Unsupported,
		Pos:  pos,
		Msg:  fmt.Sprintf("a policy in a file like %q is not supported", path.Base(file)),
		Hint: "these are read: " + interfaceExt + " (interface), " + networkExt + " (network), " + jsonExt + " (decision table)",
	}
}

// modelInterface is the interface of a network that has none in the file missing.
func modelInterface(m *jani.Model, missing string) *Interface {
	i := &Interface{Filter: true}
	for v := range m.Vars {
		if x := &m.Vars[v]; x.Kind != jani.VarLocation {
			i.Inputs = append(i.Inputs, Input{Name: x.Name, Instance: -1, Element: -1})
		}
	}
	for a, label := range m.Actions {
		if jani.ActionID(a) != m.Silent {
			i.Outputs = append(i.Outputs, jani.Name{Name: label})
		}
	}
	i.Warnings = []jani.Warning{{Msg: fmt.Sprintf(
		"there is no %q: the inputs are taken to be the %d variables of the model and the outputs its %d action labels, in model order",
		missing, len(i.Inputs), len(i.Outputs))}}
	return i
}
