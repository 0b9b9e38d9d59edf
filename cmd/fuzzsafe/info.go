package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fuzzsafe/algorithms"
	"fuzzsafe/engine"
	"fuzzsafe/jani"
)

// infoReport is the JSON of “info”.
type infoReport struct {
	Schema    string       `json:"schema"`
	Model     modelReport  `json:"model"`
	Variables []infoVar    `json:"variables"`
	Transient []infoVar    `json:"transient_variables"`
	Functions []string     `json:"functions"`
	Actions   []infoAction `json:"actions"`
	Automata  []infoPart   `json:"automata"`
	Bits      int          `json:"bits_per_state"`
	Words     int          `json:"words_per_state"`
	Vectors   int          `json:"synchronisation_vectors"`
	Rows      int          `json:"composite_edges"`
	Lazy      bool         `json:"combined_at_run_time"`
	Initial   string       `json:"initial_states"`
	Starts    string       `json:"start_states"`
	Property  string       `json:"property"`
	All       []infoProp   `json:"properties"`
	Policy    *infoPolicy  `json:"policy,omitempty"`
	Warnings  []string     `json:"warnings"`
}

type infoVar struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Bits int    `json:"bits"` // in a stored state
}

type infoAction struct {
	Name    string `json:"name"`
	Vectors int    `json:"vectors"`
}

type infoPart struct {
	Name      string `json:"name"`
	Locations int    `json:"locations"`
	Edges     int    `json:"edges"`
}

type infoProp struct {
	Name     string `json:"name"`
	Operator string `json:"operator"`
	Planning bool   `json:"planning"`
}

type infoPolicy struct {
	File    string   `json:"file"`
	Network string   `json:"network"`
	Sizes   []int    `json:"sizes"`
	Outputs []string `json:"outputs"`
	Filter  bool     `json:"filter"`
}

func (env *environment) infoCommand() *cli.Command {
	return &cli.Command{
		Name: "info", Usage: "say what a model is", ArgsUsage: "MODEL",
		Flags: commonFlags(),
		Action: func(c *cli.Context) error {
			s, err := env.open(c, false)
			if err != nil {
				return err
			}
			defer s.cancel()
			return s.info()
		},
	}
}

func (s *session) info() error {
	sp, err := s.space()
	if err != nil {
		return err
	}
	m := s.model
	r := infoReport{Schema: "fuzzsafe.info/1", Model: s.modelReport(), Bits: sp.Layout().TotalBits(), Words: sp.Layout().Words(),
		Vectors: len(m.Vectors), Initial: s.count(m.Initial), Starts: s.count(s.task.Start), Property: s.task.Name,
		Variables: []infoVar{}, Transient: []infoVar{}, Functions: []string{}, Actions: []infoAction{}, All: []infoProp{}, Warnings: s.warned}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	r.Rows, r.Lazy = sp.CompositeEdges()
	for i := range m.Vars {
		r.Variables = append(r.Variables, infoVar{m.Vars[i].Name, typeName(&m.Vars[i]), sp.Layout().Bits(jani.VarID(i))})
	}
	addDeclared := func(prefix string, variables []jani.Variable, functions []jani.Function) {
		for _, v := range variables {
			if v.Transient {
				r.Transient = append(r.Transient, infoVar{Name: prefix + v.Name, Type: declaredType(v.Type)})
			}
		}
		for _, f := range functions {
			var parameters []string
			for _, p := range f.Parameters {
				parameters = append(parameters, p.Name+": "+declaredType(p.Type))
			}
			r.Functions = append(r.Functions, fmt.Sprintf("%s%s(%s): %s", prefix, f.Name, strings.Join(parameters, ", "), declaredType(f.Type)))
		}
	}
	addDeclared("", s.doc.Variables, s.doc.Functions)
	for i := range s.doc.Automata {
		a := &s.doc.Automata[i]
		addDeclared(a.Name+".", a.Variables, a.Functions)
	}
	for a, name := range m.Actions {
		n := 0
		for _, v := range m.Vectors {
			if v.Action == jani.ActionID(a) {
				n++
			}
		}
		r.Actions = append(r.Actions, infoAction{name, n})
	}
	for _, p := range m.Parts {
		r.Automata = append(r.Automata, infoPart{p.Name, len(m.Vars[p.Location].Locations), len(p.Edges)})
	}
	for i := range s.doc.Properties {
		p := &s.doc.Properties[i]
		r.All = append(r.All, infoProp{p.Name, p.Op(), p.IsPlanning()})
	}
	if s.policy != nil {
		r.Policy = &infoPolicy{File: s.policy.InterfaceFile, Network: s.policy.NetworkFile, Sizes: s.policy.Sizes(), Filter: s.policy.Filter}
		for _, a := range s.policy.Outputs() {
			r.Policy.Outputs = append(r.Policy.Outputs, m.Actions[a])
		}
	}
	if s.json {
		return s.printJSON(r)
	}
	s.printInfo(&r)
	return nil
}

// count says how many states a set has.
func (s *session) count(set jani.StateSet) string {
	starts, err := algorithms.NewStarts(s.model, set, algorithms.StartsOptions{})
	if err != nil {
		return err.Error()
	}
	switch n, exact := starts.Count(); {
	case n == nil:
		return "infinitely many"
	case !exact:
		return "at most " + n.String()
	default:
		return n.String()
	}
}

func typeName(x *jani.Var) string {
	switch x.Kind {
	case jani.VarBool:
		return "bool"
	case jani.VarReal:
		return fmt.Sprintf("real %g to %g", x.RealLower, x.RealUpper)
	case jani.VarLocation:
		return fmt.Sprintf("location, %d", len(x.Locations))
	}
	return "int " + x.Range()
}

// declaredType renders a declared type without its bounds.
func declaredType(t jani.TypeDecl) string {
	if t.Kind == jani.KindArray {
		return "array of " + declaredType(*t.Elem)
	}
	return t.Kind.String()
}

func (s *session) printInfo(r *infoReport) {
	w := tabwriter.NewWriter(s.env.stdout, 0, 8, 2, ' ', 0)
	defer w.Flush()
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("model", "%s (%s), %s", r.Model.Name, r.Model.Type, r.Model.File)
	var parts []string
	for _, p := range r.Automata {
		parts = append(parts, fmt.Sprintf("%s (locations: %d, edges: %d)", p.Name, p.Locations, p.Edges))
	}
	row("automata", "%s", strings.Join(parts, ", "))
	composite := fmt.Sprintf("%d", r.Rows)
	if r.Lazy {
		composite += " rows; some synchronisations are combined at run time"
	}
	row("composite edges", "%s, from %d synchronisation vectors", composite, r.Vectors)
	var actions []string
	for _, a := range r.Actions {
		actions = append(actions, a.Name)
	}
	row("actions", "%s", strings.Join(actions, ", "))
	row("state", "%d bits in %d words", r.Bits, r.Words)
	row("initial states", "%s", r.Initial)
	switch {
	case s.property != nil:
		row("property", "%s, start states: %s", r.Property, r.Starts)
	case s.task.Unsafe != nil:
		row("property", "given by flags, start states: %s", r.Starts)
	default:
		row("property", "none for planning; give --property or --unsafe")
	}
	if p := r.Policy; p != nil {
		row("policy", "%s, network %s of sizes %v", p.File, p.Network, p.Sizes)
	}
	if len(r.Functions) > 0 {
		row("functions", "%s", strings.Join(r.Functions, ", "))
	}
	var transient []string
	for _, v := range r.Transient {
		transient = append(transient, v.Name+" ("+v.Type+")")
	}
	if len(transient) > 0 {
		row("transient", "%s", strings.Join(transient, ", "))
	}
	for _, p := range r.All {
		row("  has property", "%s (%s)", p.Name, p.Operator)
	}
	fmt.Fprintf(w, "\nvariable\ttype\tbits\n")
	for _, v := range r.Variables {
		fmt.Fprintf(w, "%s\t%s\t%d\n", v.Name, v.Type, v.Bits)
	}
}

// modelReport names the model in every JSON output.
type modelReport struct {
	File     string `json:"file"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Property string `json:"property"`
	Policy   string `json:"policy,omitempty"`
}

func (s *session) modelReport() modelReport {
	r := modelReport{File: s.doc.Source.Name, Name: s.model.Name, Type: string(s.model.Type), Property: s.task.Name}
	if s.policy != nil {
		r.Policy = cmp.Or(s.policy.InterfaceFile, s.policy.NetworkFile)
	}
	return r
}

// optionsReport repeats the options in JSON outputs.
type optionsReport struct {
	Choice     string   `json:"choice"`
	Constants  []string `json:"constants"`
	Seed       uint64   `json:"seed"`
	Unfiltered bool     `json:"unfiltered"`
	Unsafe     string   `json:"unsafe,omitempty"`
	Goal       string   `json:"goal,omitempty"`
	Start      string   `json:"start,omitempty"`
}

func (s *session) optionsReport() optionsReport {
	constants := s.flags.StringSlice("const")
	if constants == nil {
		constants = []string{}
	}
	return optionsReport{s.options.Choice.String(), constants, s.seed, s.options.Unfiltered,
		s.flags.String("unsafe"), s.flags.String("goal"), s.flags.String("start")}
}

func (s *session) printJSON(v any) error {
	e := json.NewEncoder(s.env.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printLine prints v as one line of JSON.
func (s *session) printLine(v any) error {
	e := json.NewEncoder(s.env.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// memory of this process for reports.
type memoryReport struct {
	PeakRSS int64 `json:"peak_rss_bytes"`
}

func peak() memoryReport { return memoryReport{engine.PeakResident()} }
