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

	"github.com/tidwall/gjson"
)

const (
	interfaceExt   = ".jani2nnet"
	networkExt     = ".nnet"
	onnxExt        = ".onnx"
	torchExt       = ".pt"
	torchExt2      = ".pth"
	safetensorsExt = ".safetensors"
	jsonExt        = ".json"
)

// Options say what the file of a policy leaves open. The zero value says nothing.
type Options struct {
	// Inputs and Outputs are the names of variables and of action labels for a policy
	// without interface; nil where the file or the model says them.
	Inputs, Outputs []string
	Activation      string      // see Weights
	Limits          jani.Limits // MaxBytes counts for all files, but for interfaces
}

// Load reads a policy for a model from a file:
//
//   - NAME.jani2nnet, an interface, which names the file of the function relative to its
//     folder;
//   - NAME.nnet, NAME.onnx, NAME.pt, NAME.pth or NAME.safetensors, a network (see ReadNNet,
//     ReadONNX, ReadTorch, ReadSafetensors);
//   - NAME.json, a decision table (ReadTable), trees (ReadTrees) or a model of XGBoost
//     (ReadXGBoost).
//
// Without interface file, inputs and outputs are those that the file names itself; else
// those of NAME.jani2nnet if that file exists; else the variables of the model in model
// order, without locations, and its action labels in model order, without the silent
// action. If an interface names a file that names inputs or outputs, they must be equal.
//
// A defect in a file is a *jani.Error with its place, another kind of file one of Kind
// Unsupported; a file that cannot be read is an error that wraps the cause.
func Load(m *jani.Model, file string) (*Policy, error) { return LoadWith(m, file, Options{}) }

// LoadWith is Load with options. Names in them take the place of what the file names or of
// an interface file beside it, and an activation that of the interface's; it is an error to
// give names for an interface or a table, or an activation for a file that has its own.
func LoadWith(m *jani.Model, file string, o Options) (*Policy, error) {
	l := loader{m, o, os.ReadFile}
	return l.load(filepath.ToSlash(file))
}

// LoadFS is Load for a file system, such as embedded benchmark instances.
func LoadFS(m *jani.Model, fsys fs.FS, file string) (*Policy, error) {
	l := loader{m, Options{}, func(name string) ([]byte, error) { return fs.ReadFile(fsys, name) }}
	return l.load(file)
}

type loader struct {
	model   *jani.Model
	options Options
	read    func(name string) ([]byte, error)
}

func (l *loader) load(file string) (*Policy, error) {
	var i *Interface
	named := file
	if path.Ext(file) == interfaceExt {
		if l.named() {
			return nil, badInput(jani.Pos{}, "%s: an interface names the inputs and outputs, so that no others can be given", file)
		}
		text, err := l.read(file)
		if err != nil {
			return nil, fmt.Errorf("policy interface: %w", err)
		}
		if i, err = ReadInterface(jani.NewSource(file, text)); err != nil {
			return nil, err
		}
		if named = i.File; !path.IsAbs(named) {
			named = path.Join(path.Dir(file), named)
		}
		if !readable(named) {
			return nil, unsupported(i.FilePos, named)
		}
	} else if !readable(file) {
		return nil, unsupported(jani.Pos{}, file)
	}
	text, err := l.read(named)
	if err != nil && named != file {
		return nil, badInput(i.FilePos, "the network file cannot be read: %v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("policy network: %w", err)
	}
	if most := l.options.Limits.MaxBytes; most > 0 && len(text) > most {
		return nil, badInput(jani.Pos{}, "%s: the file has %d bytes, more than the limit of %d", named, len(text), most)
	}
	if i == nil && path.Ext(file) != jsonExt {
		if i, err = l.beside(file); err != nil {
			return nil, err
		}
	}
	w := Weights{}
	if i != nil {
		w = i.Weights
	}
	if l.options.Activation != "" {
		w.Activation = l.options.Activation
	}
	f, own, err := l.function(named, text, w)
	if err != nil {
		return nil, err
	}
	if i == nil && own != nil && (own.Inputs == nil || own.Outputs == nil) {
		if i, err = l.beside(file); err != nil {
			return nil, err
		}
	}
	p, err := l.bind(file, i, own, f)
	if err != nil {
		return nil, err
	}
	p.NetworkFile = named
	return p, nil
}

// named reports whether the options name inputs or outputs.
func (l *loader) named() bool { return l.options.Inputs != nil || l.options.Outputs != nil }

// readable reports whether files of this name may hold a function.
func readable(file string) bool {
	return slices.Contains([]string{networkExt, onnxExt, torchExt, torchExt2, safetensorsExt, jsonExt}, path.Ext(file))
}

// beside reads the interface beside a network file, nil if there is none or the options
// take its place.
func (l *loader) beside(file string) (*Interface, error) {
	if l.named() {
		return nil, nil
	}
	name := strings.TrimSuffix(file, path.Ext(file)) + interfaceExt
	text, err := l.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("policy interface: %w", err)
	}
	i, err := ReadInterface(jani.NewSource(name, text))
	if err == nil && path.Base(i.File) != path.Base(file) {
		i.Warnings = append(i.Warnings, jani.Warning{
			Pos: i.FilePos,
			Msg: fmt.Sprintf("the interface is for network %q; it is used with %q", i.File, file),
		})
	}
	return i, err
}

// function reads a file and returns what it says about inputs and outputs, nil if nothing.
func (l *loader) function(name string, text []byte, w Weights) (f Function, own *Interface, err error) {
	switch ext := path.Ext(name); {
	case ext == torchExt || ext == torchExt2:
		f, err = ReadTorch(name, text, w)
		return f, nil, err
	case ext == safetensorsExt:
		f, err = ReadSafetensors(name, text, w)
		return f, nil, err
	case w.Activation != "" || w.Layers != nil:
		return nil, nil, badInput(jani.Pos{}, "%s: an activation or layers can only be given for a torch or safetensors file", name)
	case ext == onnxExt:
		f, err = ReadONNX(name, text)
		return f, nil, err
	}
	src := jani.NewSource(name, text)
	if path.Ext(name) == networkExt {
		f, err = ReadNNet(src)
		return f, nil, err
	}
	root := gjson.Parse(src.Text) // of which the readers check that it is JSON
	switch schema := member(root, "schema"); {
	case schema.Str == tableSchema:
		f, own, err = ReadTable(l.model, src, l.options.Limits)
	case schema.Str == treesSchema:
		f, own, err = ReadTrees(src, l.options.Limits)
	case !schema.Exists() && member(root, "learner").Exists():
		f, own, err = ReadXGBoost(src, l.options.Limits)
	default:
		if err = jani.CheckJSON(src, l.options.Limits); err == nil {
			err = badInput(jani.Pos{Src: src}, `this is no policy: it has neither "schema": %q or %q nor the "learner" of XGBoost`,
				tableSchema, treesSchema)
		}
	}
	return f, own, err
}

// bind joins a function with the interface i that was read for it, nil if none was, or with
// what the options, the file itself (own, may be nil) and the model say.
func (l *loader) bind(file string, i, own *Interface, f Function) (*Policy, error) {
	if own == nil {
		own = &Interface{Filter: true}
	}
	if i != nil {
		p, err := Bind(l.model, i, f)
		if err != nil {
			return nil, err
		}
		p.Warnings = append(p.Warnings, own.Warnings...)
		return p, l.agree(p, i, own)
	}
	if _, isTable := f.(*Table); isTable && l.named() {
		return nil, badInput(jani.Pos{}, "%s: a table names its inputs and outputs, so that no others can be given", file)
	}
	i = &Interface{Source: own.Source, Filter: true, Inputs: own.Inputs, Outputs: own.Outputs, Warnings: own.Warnings}
	if l.options.Inputs != nil {
		i.Inputs = []Input{}
		for _, name := range l.options.Inputs {
			i.Inputs = append(i.Inputs, Input{Name: name, Instance: -1, Element: -1})
		}
	}
	if l.options.Outputs != nil {
		i.Outputs = []jani.Name{}
		for _, name := range l.options.Outputs {
			i.Outputs = append(i.Outputs, jani.Name{Name: name})
		}
	}
	complete(l.model, i, strings.TrimSuffix(file, path.Ext(file))+interfaceExt)
	return Bind(l.model, i, f)
}

// agree returns an error if the names that a file has for inputs or outputs are those of
// others than the interface i of p says. Names that the model does not know mean nothing.
func (l *loader) agree(p *Policy, i, own *Interface) error {
	differ := len(own.Outputs) > 0 && !slices.EqualFunc(own.Outputs, p.outputs, func(n jani.Name, a jani.ActionID) bool {
		return n.Name == l.model.Actions[a] || !slices.Contains(l.model.Actions, n.Name)
	})
	differ = differ || len(own.Inputs) > 0 && !slices.EqualFunc(own.Inputs, p.inputs, func(in Input, v jani.VarID) bool {
		x, _ := l.model.Variable(in.Name)
		return x == v || x == jani.NoVar
	})
	if differ {
		return badInput(i.FilePos, "%q has other inputs or outputs than the interface, or in another order", i.File)
	}
	return nil
}

func unsupported(pos jani.Pos, file string) error {
	return &jani.Error{
		Kind: jani.Unsupported,
		Pos:  pos,
		Msg:  fmt.Sprintf("a policy in a file like %q is not supported", path.Base(file)),
		Hint: "these are read: .jani2nnet (interface); .nnet, .onnx, .pt, .pth, .safetensors (network); " +
			".json (decision table, trees, XGBoost)",
	}
}

// complete fills in the inputs and outputs that an interface lacks; there is no file
// missing that says them.
func complete(m *jani.Model, i *Interface, missing string) {
	var taken []string
	if i.Inputs == nil {
		for v := range m.Vars {
			if x := &m.Vars[v]; x.Kind != jani.VarLocation {
				i.Inputs = append(i.Inputs, Input{Name: x.Name, Instance: -1, Element: -1})
			}
		}
		taken = append(taken, fmt.Sprintf("the inputs are taken to be the %d variables of the model", len(i.Inputs)))
	}
	if i.Outputs == nil {
		for a, label := range m.Actions {
			if jani.ActionID(a) != m.Silent {
				i.Outputs = append(i.Outputs, jani.Name{Name: label})
			}
		}
		taken = append(taken, fmt.Sprintf("the outputs are taken to be the %d action labels of the model", len(i.Outputs)))
	}
	if i.stands = len(taken) == 2; i.stands {
		i.Source = nil
	}
	if len(taken) > 0 {
		i.Warnings = append(i.Warnings, jani.Warning{
			Msg: fmt.Sprintf("there is no %q: %s, in model order", missing, strings.Join(taken, ", and ")),
		})
	}
}
