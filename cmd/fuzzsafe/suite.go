package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// suiteSchema names the format of suite files, JSON of this form:
//
//	{
//	  "schema": "fuzzsafe.suite/1",
//	  "instances": [
//	    {"model": "bench:one-way-line-det", "draw": 30},
//	    {"name": "line of 3", "model": "line/model.jani", "property": "line/safe.json:safe", "policy": "line/policy.jani2nnet",
//	     "const": {"N": "3"}, "unsafe": "x > 3", "goal": "x = 0", "start": "@line/starts.json", "choice": "label",
//	     "states": "line/states.json", "first": 100, "max_states": 1000000, "unfiltered": false}
//	  ]
//	}
//
// Only "model" is required; the others have the meaning and default of the flags of
// “check” (max_states is --max-states). Files are relative to the suite file; a property is
// a file if there is one of that name, else the name of a property of the model. The name
// is the model's without “bench:” or “.jani” by default; no two instances have one name.
// Keys that are not listed are errors, but for "comment".
const suiteSchema = "fuzzsafe.suite/1"

// suiteInstance is one task with what is to be decided about it. Empty fields are not
// given.
type suiteInstance struct {
	Name       string   `json:"name"`
	Model      string   `json:"model"`
	Property   string   `json:"property,omitempty"`
	Policy     string   `json:"policy,omitempty"`
	Const      []string `json:"const,omitempty"` // NAME=VALUE
	Unsafe     string   `json:"unsafe,omitempty"`
	Goal       string   `json:"goal,omitempty"`
	Start      string   `json:"start,omitempty"`
	Choice     string   `json:"choice,omitempty"`
	Unfiltered bool     `json:"unfiltered,omitempty"`
	States     string   `json:"states,omitempty"`
	Draw       int      `json:"draw,omitempty"`
	First      int      `json:"first,omitempty"`
	MaxStates  int64    `json:"max_states,omitempty"`
}

// hasPolicy returns whether there is a policy under test; embedded instances have one.
func (i *suiteInstance) hasPolicy() bool {
	return i.Policy != "" || strings.HasPrefix(i.Model, "bench:")
}

// defaultName is the name of an instance that has been given none.
func (i *suiteInstance) defaultName() string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(i.Model), "bench:"), ".jani")
}

// modelArgs returns the flags that describe the task of the instance, without the model.
func (i *suiteInstance) modelArgs() []string {
	var args []string
	for _, f := range []struct{ flag, value string }{
		{"property", i.Property}, {"policy", i.Policy}, {"unsafe", i.Unsafe}, {"goal", i.Goal}, {"start", i.Start}, {"choice", i.Choice},
	} {
		if f.value != "" {
			args = append(args, "--"+f.flag+"="+f.value)
		}
	}
	for _, c := range i.Const {
		args = append(args, "--const="+c)
	}
	if i.Unfiltered {
		args = append(args, "--unfiltered")
	}
	return args
}

// args returns the flags of “check” that describe the instance, without the model.
func (i *suiteInstance) args() []string {
	args := i.modelArgs()
	if i.States != "" {
		args = append(args, "--states="+i.States)
	}
	for _, f := range []struct {
		flag  string
		value int64
	}{{"draw", int64(i.Draw)}, {"first", int64(i.First)}, {"max-states", i.MaxStates}} {
		if f.value != 0 {
			args = append(args, "--"+f.flag+"="+strconv.FormatInt(f.value, 10))
		}
	}
	return args
}

// isSuite returns whether a text is meant to be a suite file, not a model.
func isSuite(src *jani.Source) bool {
	return strings.HasPrefix(gjson.Get(src.Text, "schema").Str, "fuzzsafe.") || gjson.Get(src.Text, "instances").IsArray()
}

// readSuite reads a suite file. Errors are *jani.Error with their place. The models and
// other files in it are not opened.
func readSuite(src *jani.Source, limits jani.Limits) ([]suiteInstance, error) {
	if err := jani.CheckJSON(src, limits); err != nil {
		return nil, err
	}
	r := suiteReader{src: src, dir: filepath.Dir(src.Name)}
	root := gjson.Parse(src.Text)
	var list []suiteInstance
	names := map[string]bool{}
	schema := ""
	r.object(root, "the suite", []string{"schema", "instances", "comment"}, func(key string, v gjson.Result) {
		switch key {
		case "schema":
			if schema = r.text(v, key); schema != suiteSchema {
				r.fail(v, "", "the schema must be %q, not %q", suiteSchema, schema)
			}
		case "instances":
			if !v.IsArray() {
				r.fail(v, "", "instances must be an array")
			}
			v.ForEach(func(_, item gjson.Result) bool {
				i := r.instance(item)
				if names[i.Name] {
					r.fail(item, `"name" tells them apart`, "two instances are called %q", i.Name)
				}
				names[i.Name] = true
				list = append(list, i)
				return r.err == nil
			})
		}
	})
	if schema == "" {
		r.fail(root, "", `the suite has no "schema"; it is %q`, suiteSchema)
	}
	if len(list) == 0 {
		r.fail(root, "", "there are no instances in the suite")
	}
	if r.err != nil {
		return nil, r.err
	}
	return list, nil
}

// suiteReader reads JSON values that jani.CheckJSON has passed and keeps the first error.
type suiteReader struct {
	src *jani.Source
	dir string // that files are relative to
	err error
}

func (r *suiteReader) fail(v gjson.Result, hint, format string, args ...any) {
	if r.err == nil {
		at := jani.Pos{Src: r.src, Off: int32(v.Index)}
		r.err = &jani.Error{Kind: jani.BadInput, Pos: at, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
}

// object calls field for every member, until there is an error.
func (r *suiteReader) object(v gjson.Result, what string, keys []string, field func(key string, v gjson.Result)) {
	if !v.IsObject() {
		r.fail(v, "", "%s must be an object", what)
		return
	}
	v.ForEach(func(k, m gjson.Result) bool {
		if keys != nil && !slices.Contains(keys, k.Str) {
			hint := jani.DidYouMean(k.Str, keys)
			if hint == "" {
				hint = "there are " + strings.Join(keys, ", ")
			}
			r.fail(k, hint, "%s has no key %q", what, k.Str)
		} else {
			field(k.Str, m)
		}
		return r.err == nil
	})
}

func (r *suiteReader) text(v gjson.Result, what string) string {
	if v.Type != gjson.String || v.Str == "" {
		r.fail(v, "", "%s must be a string that is not empty", what)
	}
	return v.Str
}

func (r *suiteReader) positive(v gjson.Result, what string, most int64) int64 {
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if err != nil || n < 1 || n > most {
		r.fail(v, "", "%s must be a whole number from 1 to %d", what, most)
	}
	return n
}

// file returns the path of a file that the suite names.
func (r *suiteReader) file(v gjson.Result, what string) string {
	name := r.text(v, what)
	if filepath.IsAbs(name) || strings.HasPrefix(name, "bench:") {
		return name
	}
	return filepath.Join(r.dir, name)
}

// condition returns an expression, or @FILE with the path of the file.
func (r *suiteReader) condition(v gjson.Result, what string) string {
	text := r.text(v, what)
	if file, ok := strings.CutPrefix(text, "@"); ok && !filepath.IsAbs(file) {
		return "@" + filepath.Join(r.dir, file)
	}
	return text
}

// property returns FILE[:NAME] with the path of the file if there is such a file, else
// the text, which then names a property of the model.
func (r *suiteReader) property(v gjson.Result) string {
	text := r.text(v, "property")
	whole := r.file(v, "property")
	file := whole
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		file = whole[:len(whole)-(len(text)-i)]
	}
	for _, f := range []string{whole, file} {
		if _, err := os.Stat(f); err == nil {
			return whole
		}
	}
	return text
}

func (r *suiteReader) constants(v gjson.Result) []string {
	var list []string
	r.object(v, "const", nil, func(name string, v gjson.Result) {
		value := v.Raw
		switch v.Type {
		case gjson.String:
			value = v.Str
		case gjson.Number, gjson.True, gjson.False:
		default:
			r.fail(v, "", "the value of %s must be a string, a number, true or false", name)
		}
		text := name + "=" + value
		if _, _, err := jani.ParseConstant(text); err != nil {
			r.fail(v, "", "const: %v", err)
		}
		list = append(list, text)
	})
	return list
}

func (r *suiteReader) instance(v gjson.Result) suiteInstance {
	var i suiteInstance
	keys := []string{"name", "model", "property", "policy", "const", "unsafe", "goal", "start", "choice", "unfiltered", "states", "draw",
		"first", "max_states", "comment"}
	r.object(v, "an instance", keys, func(key string, v gjson.Result) {
		switch key {
		case "name":
			i.Name = r.text(v, key)
		case "model":
			i.Model = r.file(v, key)
		case "property":
			i.Property = r.property(v)
		case "policy":
			if i.Policy = r.text(v, key); !strings.HasPrefix(i.Policy, "cmd:") {
				i.Policy = r.file(v, key)
			}
		case "const":
			i.Const = r.constants(v)
		case "unsafe":
			i.Unsafe = r.condition(v, key)
		case "goal":
			i.Goal = r.condition(v, key)
		case "start":
			i.Start = r.condition(v, key)
		case "choice":
			i.Choice = r.text(v, key)
			if _, err := engine.ParseChoiceMode(i.Choice); err != nil {
				r.fail(v, "", "%v", err)
			}
		case "unfiltered":
			if i.Unfiltered = v.Bool(); !v.IsBool() {
				r.fail(v, "", "unfiltered must be true or false")
			}
		case "states":
			i.States = r.file(v, key)
		case "draw":
			i.Draw = int(r.positive(v, key, math.MaxInt32))
		case "first":
			i.First = int(r.positive(v, key, math.MaxInt32))
		case "max_states":
			i.MaxStates = r.positive(v, key, math.MaxInt64)
		}
	})
	if i.Model == "" {
		r.fail(v, "", `an instance has no "model"`)
	}
	if i.Name == "" {
		// The text of the file, so that the name does not depend on where the suite is.
		i.Name = (&suiteInstance{Model: v.Get("model").Str}).defaultName()
	}
	return i
}
