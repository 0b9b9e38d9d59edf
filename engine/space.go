package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fuzzsafe/jani"
)

// ChoiceMode says what an action is.
type ChoiceMode uint8

const (
	// ByLabel makes every action label one action: its outcomes are those of all
	// enabled composite edges with that label. This is the reading of FOND planning.
	ByLabel ChoiceMode = iota
	// ByEdge makes every enabled composite edge an action of its own, as probabilistic
	// model checkers do.
	ByEdge
)

// ParseChoiceMode reads "label" or "edge".
func ParseChoiceMode(s string) (ChoiceMode, error) {
	switch s {
	case "label":
		return ByLabel, nil
	case "edge":
		return ByEdge, nil
	}
	return ByLabel, fmt.Errorf("choice mode %q: it is label or edge", s)
}

// String returns "label" or "edge".
func (m ChoiceMode) String() string { return [...]string{"label", "edge"}[m] }

// Options configures a Space. The zero value is the FOND reading without policy and
// without limits.
type Options struct {
	Choice ChoiceMode
	// Policy is the policy under test, nil if there is none.
	Policy Policy
	// Unfiltered takes the policy's best output even if its action is not applicable;
	// such states have the decision −1. By default only applicable actions count.
	Unfiltered bool
	// NoMaximalProgress lets the Markovian edges of an ma race also in states where
	// another edge is enabled. By default that takes no time, so they do not.
	NoMaximalProgress bool
	Limits            Limits
}

// Space is the transition system of a task, unfolded as far as it has been asked for.
// States are numbered; per state, class, applicable actions, outcomes per action and
// the policy's decision are computed at most once. A Space is for one goroutine at a
// time; Fork makes further ones that share the compiled model.
type Space struct {
	ctx     context.Context
	task    *jani.Task
	options Options
	work    *worker
	states  *registry
	unsafe  boolFunc
	goal    boolFunc

	class    PerState[Class]
	first    PerState[uint32] // reference into slots, 0 if the actions are not known
	decision PerState[decision]
	slots    arena[uint32]  // per state: label and outcomes of each applicable action
	outcomes arena[StateID] // per generated pair
	decided  []StateID      // states whose decision was computed, in that order
	in, out  []float64      // of the policy
	ahead    ahead
	inputs   []jani.VarID    // of the policy
	outputs  []jani.ActionID // of the policy
	steps    uint32          // since the limits were checked last
	stats    Stats
	found    []uint32         // scratch: slots of a state
	reached  []StateID        // scratch: outcomes of an action
	seen     map[StateID]bool // scratch: of reached, if it is large
}

// decision is the cached decision in a state: 0 if it is not known, else the action + 2
// in the bits from flagBits on, and flags.
type decision uint32

const (
	fallbackFlag  decision = 1
	ambiguousFlag decision = 2
	nearTieFlag   decision = 4

	flagBits = 3
)

func (d decision) action() int { return int(d>>flagBits) - 2 }

// Stats counts what a Space has computed.
type Stats struct {
	States            int64 // stored
	Expanded          int64 // states whose applicable actions were computed
	Pairs             int64 // (state, action) pairs whose outcomes were generated
	PolicyEvaluations int64 // states whose decision was computed, also where there is no choice
	// Fallbacks counts the states in which no action that the policy has an output for
	// was applicable, so that the first applicable action was taken. The only applicable
	// action counts only if none of Policy.Outputs stands for its label.
	Fallbacks int64
	// Ambiguous counts the states in which, in edge mode, several enabled edges had
	// the label that the policy chose; the first was taken.
	Ambiguous int64
	// NearTies counts the states in which the two best of the outputs that count differ
	// by at most a millionth of the larger: rounding may decide. The only applicable
	// action has no rival.
	NearTies    int64
	PackedBytes int64 // memory of stored states and their hash table
	// NegativeRemainders counts the evaluations of % with a negative operand: the
	// specification does not say which sign the result has; here it is the dividend's.
	NegativeRemainders int64
}

// NewSpace compiles the transition generator of a task. The context ends the work of
// the Space: once it is done, methods return a *LimitError.
func NewSpace(ctx context.Context, task *jani.Task, options Options) (*Space, error) {
	g, err := newGenerator(task.Model)
	if err != nil {
		return nil, err
	}
	return newSpace(ctx, task, options, g), nil
}

func newSpace(ctx context.Context, task *jani.Task, options Options, g *generator) *Space {
	sp := &Space{ctx: ctx, task: task, options: options, work: newWorker(g)}
	sp.states = newRegistry(g.layout.words, 8)
	c := &exprCompiler{task.Model, g.layout}
	compile := func(e *jani.Expr) boolFunc {
		if e == nil {
			return func(*evaluator) bool { return false }
		}
		return c.bool(e)
	}
	sp.unsafe, sp.goal = compile(task.Unsafe), compile(task.Goal)
	if p := options.Policy; p != nil {
		sp.inputs, sp.outputs = p.Inputs(), p.Outputs()
		sp.in, sp.out = make([]float64, len(sp.inputs)), make([]float64, len(sp.outputs))
	}
	return sp
}

// Fork returns an empty Space for the same task and options that may be used by
// another goroutine at the same time; policy replaces the policy under test, which
// need not be safe for concurrent use.
func (sp *Space) Fork(ctx context.Context, policy Policy) *Space {
	options := sp.options
	options.Policy = policy
	return newSpace(ctx, sp.task, options, sp.work.generator)
}

// Unlimited is Fork without context and limits: for checking what was found before one of
// them was reached.
func (sp *Space) Unlimited(policy Policy) *Space {
	fork := sp.Fork(context.Background(), policy)
	fork.options.Limits = Limits{}
	return fork
}

// Task returns the task.
func (sp *Space) Task() *jani.Task { return sp.task }

// Model returns the model.
func (sp *Space) Model() *jani.Model { return sp.task.Model }

// Layout returns how states are packed.
func (sp *Space) Layout() *Layout { return sp.work.layout }

// HasPolicy reports whether there is a policy under test.
func (sp *Space) HasPolicy() bool { return sp.options.Policy != nil }

// Stats returns what has been computed so far.
func (sp *Space) Stats() Stats {
	s := sp.stats
	s.States = int64(sp.states.count)
	s.PackedBytes = sp.states.bytes()
	s.NegativeRemainders = sp.work.negatives
	return s
}

// NumStates returns the number of stored states.
func (sp *Space) NumStates() int { return int(sp.states.count) }

// CompositeEdges returns how many rows the transition generator decides, and whether
// some synchronisations are combined at run time instead of being listed.
func (sp *Space) CompositeEdges() (rows int, lazy bool) {
	return len(sp.work.rows), sp.work.lazy != nil
}

// Intern returns the number of the state with these values, one per variable of the
// model and within its bounds.
func (sp *Space) Intern(values []jani.Value) (StateID, error) {
	w := make([]uint64, sp.work.layout.words)
	sp.work.layout.pack(values, w)
	return sp.intern(w)
}

// Import returns the number in sp of state s of other, a Space for the same model. Limits
// do not apply, so that what another Space has found before one can be taken over.
func (sp *Space) Import(other *Space, s StateID) (StateID, error) {
	w := other.states.at(s)
	hash := hashWords(w)
	id, slot := sp.states.find(w, hash)
	if id != NoState {
		return id, nil
	}
	if sp.states.count >= maxStates {
		return NoState, &LimitError{LimitStates, "there are no more numbers for states"}
	}
	return sp.states.add(w, hash, slot), nil
}

// Values returns the values of state s.
func (sp *Space) Values(s StateID) []jani.Value {
	values := make([]jani.Value, len(sp.task.Model.Vars))
	sp.ReadValues(s, values)
	return values
}

// ReadValues writes the values of state s, one per variable of the model.
func (sp *Space) ReadValues(s StateID, values []jani.Value) {
	sp.work.layout.unpack(sp.states.at(s), values)
}

// Describe renders state s as name=value pairs.
func (sp *Space) Describe(s StateID) string { return sp.work.describe(sp.states.at(s)) }

func (sp *Space) intern(w []uint64) (StateID, error) {
	hash := hashWords(w)
	id, slot := sp.states.find(w, hash)
	if id != NoState {
		return id, nil
	}
	if sp.states.count&0xfff == 0xfff {
		if err := sp.options.Limits.check(sp.ctx); err != nil {
			return NoState, err
		}
	}
	n := int64(sp.states.count)
	if limit := sp.options.Limits.MaxStates; limit > 0 && n >= limit || n >= maxStates {
		return NoState, &LimitError{LimitStates, fmt.Sprintf("the limit of %d states is reached", n)}
	}
	return sp.states.add(w, hash, slot), nil
}

// step checks the limits now and then.
func (sp *Space) step() error {
	if sp.steps++; sp.steps&0xfff == 0 {
		return sp.options.Limits.check(sp.ctx)
	}
	return nil
}

// Class returns whether s is unsafe, a goal or neither.
func (sp *Space) Class(s StateID) (Class, error) {
	c := sp.class.At(s)
	if *c != ClassUnknown {
		return *c, nil
	}
	k := sp.work
	k.w = sp.states.at(s)
	class := ClassOrdinary
	if sp.unsafe(&k.evaluator) {
		class = ClassUnsafe
	} else if k.err == nil && sp.goal(&k.evaluator) {
		class = ClassGoal
	}
	if k.err != nil {
		return ClassUnknown, k.failed("unsafe or goal condition")
	}
	*c = class
	return class, nil
}

// actions returns the slots of s: pairs of label and outcomes, one per applicable action.
func (sp *Space) actions(s StateID) ([]uint32, error) {
	first := sp.first.At(s)
	if *first == 0 {
		if err := sp.step(); err != nil {
			return nil, err
		}
		k := sp.work
		if err := k.enableAll(sp.states.at(s)); err != nil {
			return nil, err
		}
		sp.found = sp.found[:0]
		for i := range k.labels {
			l := &k.labels[i]
			if l.race && len(sp.found) > 0 && sp.maximalProgress() {
				continue
			}
			k.choices(l, func() bool {
				sp.found = append(sp.found, uint32(i), 0)
				return !sp.merges(l)
			})
		}
		if *first = sp.slots.add(sp.found); *first == 0 {
			return nil, &LimitError{LimitMemory, "the table of applicable actions is full"}
		}
		sp.stats.Expanded++
	}
	return sp.slots.list(*first), nil
}

// merges reports whether all choices with label l are one action.
func (sp *Space) merges(l *label) bool { return sp.options.Choice == ByLabel || l.race }

// maximalProgress reports whether the race waits for all other edges. Its label is the
// last one.
func (sp *Space) maximalProgress() bool {
	return sp.task.Model.Type == "ma" && !sp.options.NoMaximalProgress
}

// NumActions returns the number of applicable actions of s.
func (sp *Space) NumActions(s StateID) (int, error) {
	slots, err := sp.actions(s)
	return len(slots) / 2, err
}

// Action returns the label of applicable action i of s, NoAction if there is none. In
// edge mode several applicable actions may have the same label.
func (sp *Space) Action(s StateID, i int) jani.ActionID {
	slots, err := sp.actions(s)
	if err != nil || i < 0 || 2*i >= len(slots) {
		return jani.NoAction
	}
	return sp.work.labels[slots[2*i]].action
}

// ActionName returns how applicable action i of s is printed: its label, and in edge
// mode the composite edge.
func (sp *Space) ActionName(s StateID, i int) string {
	a := sp.Action(s, i)
	if a == jani.NoAction {
		return "?"
	}
	name := sp.task.Model.Actions[a]
	if sp.options.Choice == ByLabel || a == sp.task.Model.Race {
		return name
	}
	slots, err := sp.actions(s)
	if err != nil {
		return name
	}
	edges := ""
	if err := sp.visitChoice(s, slots, i, func() error {
		for _, e := range sp.work.chosen {
			edges += ", " + e.name
		}
		return nil
	}); err != nil {
		return name
	}
	return name + " (" + edges[2:] + ")"
}

// visitChoice calls visit for the choices of which action i of s consists: those of
// its label, or in edge mode the only one.
func (sp *Space) visitChoice(s StateID, slots []uint32, i int, visit func() error) error {
	k := sp.work
	l := &k.labels[slots[2*i]]
	if err := k.enableLabel(sp.states.at(s), l); err != nil {
		return err
	}
	skip := 0 // in edge mode: choices of the label before the one wanted
	if !sp.merges(l) {
		for i > skip && slots[2*(i-skip-1)] == slots[2*i] {
			skip++
		}
	}
	var err error
	k.choices(l, func() bool {
		if skip > 0 {
			skip--
			return true
		}
		err = visit()
		return err == nil && sp.merges(l)
	})
	return err
}

// Outcomes returns the states that applicable action i of s can lead to.
func (sp *Space) Outcomes(s StateID, i int) ([]StateID, error) {
	slots, err := sp.actions(s)
	if err != nil {
		return nil, err
	}
	if i < 0 || 2*i >= len(slots) {
		return nil, fmt.Errorf("state %d has %d applicable actions, number %d was asked for", s, len(slots)/2, i)
	}
	at := slots[2*i+1]
	if at == 0 {
		if at, err = sp.generate(s, slots, i); err != nil {
			return nil, err
		}
		slots[2*i+1] = at
	}
	return sp.outcomes.list(at), nil
}

// generate computes the outcomes of action i of s and returns their reference.
func (sp *Space) generate(s StateID, slots []uint32, i int) (uint32, error) {
	if err := sp.step(); err != nil {
		return 0, err
	}
	k := sp.work
	k.out = k.out[:0]
	w := sp.states.at(s)
	if err := sp.visitChoice(s, slots, i, func() error {
		_, err := k.expand(w)
		return err
	}); err != nil {
		return 0, err
	}
	sp.reached = sp.reached[:0]
	for n, from := k.layout.words, 0; from < len(k.out); from += n {
		id, err := sp.intern(k.out[from : from+n])
		if err != nil {
			return 0, err
		}
		if !sp.duplicate(sp.reached, id) {
			sp.reached = append(sp.reached, id)
		}
	}
	ref := sp.outcomes.add(sp.reached)
	if ref == 0 {
		return 0, &LimitError{LimitMemory, "the table of outcomes is full"}
	}
	sp.stats.Pairs++
	return ref, nil
}

// duplicate reports whether id is in list, which holds the outcomes so far.
func (sp *Space) duplicate(list []StateID, id StateID) bool {
	const few = 24
	if len(list) < few {
		for _, x := range list {
			if x == id {
				return true
			}
		}
		return false
	}
	if len(list) == few {
		sp.seen = make(map[StateID]bool)
		for _, x := range list {
			sp.seen[x] = true
		}
	}
	known := sp.seen[id]
	sp.seen[id] = true
	return known
}

// Decision returns which of the applicable actions of s the policy under test takes:
// the one with the highest output, ties going to the lowest output. It returns −1 if
// there is no policy, if s is terminal, or if the policy is read unfiltered and
// chooses an action that is not applicable. If no applicable action has an output, or read
// unfiltered the policy has none at all, the first one is taken (Stats.Fallbacks counts
// such states).
func (sp *Space) Decision(s StateID) (int, error) {
	if sp.options.Policy == nil {
		return -1, nil
	}
	d := sp.decision.At(s)
	if *d != 0 {
		return d.action(), nil
	}
	slots, err := sp.actions(s)
	if err != nil || len(slots) == 0 {
		return -1, err
	}
	choice, flags, err := sp.choose(s, slots)
	if err != nil {
		return -1, err
	}
	sp.decide(s, d, decision(choice+2)<<flagBits|flags)
	return choice, nil
}

// KnownDecision returns the decision in s if it has been computed, else −1.
func (sp *Space) KnownDecision(s StateID) int {
	if d := sp.decision.Peek(s); d != 0 {
		return d.action()
	}
	return -1
}

func (sp *Space) decide(s StateID, entry *decision, d decision) {
	*entry = d
	sp.decided = append(sp.decided, s)
	sp.stats.PolicyEvaluations++
	sp.stats.Fallbacks += int64(d & fallbackFlag)
	sp.stats.Ambiguous += int64(d & ambiguousFlag / ambiguousFlag)
	sp.stats.NearTies += int64(d & nearTieFlag / nearTieFlag)
}

// BatchPolicy is a Policy that is faster for many states at once: a process that has to be
// asked. For networks of usual sizes there is nothing to gain.
type BatchPolicy interface {
	Policy
	// BatchSize returns how many states to ask for at once; at most 1: never mind.
	BatchSize() int
	// EvaluateBatch is Evaluate for count states, one after the other in in and out, with
	// the same results.
	EvaluateBatch(count int, in, out []float64) error
}

// ahead holds outputs of the policy for states whose decision may be asked for soon.
type ahead struct {
	states  []StateID
	in, out []float64
	at      map[StateID]int // position in states
}

// Prefetch evaluates a BatchPolicy at once in those of the states whose decision is not known,
// as far as they are ordinary and not known to have one action only. It changes no result
// and no count: the outputs wait for a Decision, an error is left to it, and what is not
// asked for is dropped at the next Prefetch.
func (sp *Space) Prefetch(states []StateID) {
	p, ok := sp.options.Policy.(BatchPolicy)
	if !ok || p.BatchSize() < 2 {
		return
	}
	a := &sp.ahead
	a.states, a.in, a.out = a.states[:0], a.in[:0], a.out[:0]
	a.at = make(map[StateID]int)
	for _, s := range states {
		if sp.class.Peek(s) != ClassOrdinary || sp.decision.Peek(s) != 0 {
			continue
		}
		if first := sp.first.Peek(s); first != 0 && len(sp.slots.list(first)) <= 2 {
			continue
		}
		sp.readInputs(s)
		a.states, a.in = append(a.states, s), append(a.in, sp.in...)
	}
	for from := 0; from < len(a.states); from += p.BatchSize() {
		n := min(p.BatchSize(), len(a.states)-from)
		a.out = append(a.out, make([]float64, n*len(sp.outputs))...)
		if p.EvaluateBatch(n, a.in[from*len(sp.inputs):][:n*len(sp.inputs)], a.out[from*len(sp.outputs):]) != nil {
			return // Decision meets the error where it belongs
		}
		for i := range n {
			a.at[a.states[from+i]] = from + i
		}
	}
}

// fetched writes the outputs in s to sp.out if they have been computed ahead.
func (sp *Space) fetched(s StateID) bool {
	i, ok := sp.ahead.at[s]
	if ok {
		copy(sp.out, sp.ahead.out[i*len(sp.out):])
	}
	return ok
}

func (sp *Space) readInputs(s StateID) {
	w := sp.states.at(s)
	for i, x := range sp.inputs {
		v := jani.Value(sp.work.layout.fields[x].get(w))
		sp.in[i] = sp.task.Model.Vars[x].Float(v)
	}
}

// choose evaluates the policy in s, which has the given applicable actions.
func (sp *Space) choose(s StateID, slots []uint32) (choice int, flags decision, err error) {
	if len(slots) == 2 && !sp.options.Unfiltered {
		if !slices.Contains(sp.outputs, sp.work.labels[slots[0]].action) {
			flags = fallbackFlag
		}
		return 0, flags, nil // the only one: what the policy thinks of it does not matter
	}
	if !sp.fetched(s) {
		sp.readInputs(s)
		if err := sp.options.Policy.Evaluate(sp.in, sp.out); err != nil {
			return -1, 0, fmt.Errorf("policy in state %s: %w", sp.Describe(s), err)
		}
	}
	best, choice, second := -1, -1, math.Inf(-1)
	for k, v := range sp.out {
		if v != v {
			return -1, 0, fmt.Errorf("policy in state %s: output %d is not a number", sp.Describe(s), k)
		}
		first := best < 0 || v > sp.out[best]
		if math.IsInf(v, -1) || !first && !nearTie(sp.out[best], v) {
			continue
		}
		switch i := sp.applicable(slots, sp.outputs[k]); {
		case i < 0 && !sp.options.Unfiltered:
		case !first:
			second = max(second, v)
		default:
			if best >= 0 {
				second = sp.out[best]
			}
			best, choice = k, i
		}
	}
	if best >= 0 && nearTie(sp.out[best], second) {
		flags = nearTieFlag
	}
	switch {
	case best < 0:
		return 0, fallbackFlag, nil
	case choice >= 0 && 2*choice+2 < len(slots) && slots[2*choice] == slots[2*choice+2]:
		flags |= ambiguousFlag
	}
	return choice, flags, nil
}

// nearTie reports whether x, the larger, and y differ by so little that rounding may
// decide which is larger: policies are evaluated in other precision and order elsewhere.
func nearTie(x, y float64) bool {
	const tolerance = 1e-6
	return x-y <= min(tolerance*max(math.Abs(x), math.Abs(y)), math.MaxFloat64)
}

// applicable returns the first of the slots that has the given label, or −1.
func (sp *Space) applicable(slots []uint32, a jani.ActionID) int {
	for i := 0; i < len(slots); i += 2 {
		if sp.work.labels[slots[i]].action == a {
			return i / 2
		}
	}
	return -1
}

// Adopt takes over the decisions that a Fork of sp has computed, so that the policy is
// not evaluated again where a worker has done so. The order in which forks are adopted
// does not change what sp knows, only its numbering.
func (sp *Space) Adopt(fork *Space) error {
	for _, s := range fork.decided {
		id, err := sp.Import(fork, s)
		if err != nil {
			return err
		}
		if d := sp.decision.At(id); *d == 0 {
			sp.decide(id, d, *fork.decision.At(s))
		}
	}
	return nil
}

// PerState is a table with one entry per state of a Space; entries start as zero. It grows
// in chunks that never move, as states are asked for.
type PerState[T any] struct {
	chunks [][]T
}

// At returns the entry of s. The pointer stays valid.
func (p *PerState[T]) At(s StateID) *T {
	c := int(s >> chunkBits)
	for c >= len(p.chunks) {
		p.chunks = append(p.chunks, make([]T, chunkStates))
	}
	return &p.chunks[c][s&(chunkStates-1)]
}

// Peek returns the entry of s without making room for it.
func (p *PerState[T]) Peek(s StateID) (entry T) {
	if c := int(s >> chunkBits); c < len(p.chunks) {
		return p.chunks[c][s&(chunkStates-1)]
	}
	return entry
}
