package engine

import (
	"context"
	"iter"
	"time"

	"fuzzsafe/jani"
)

// ExploreOptions configures an enumeration of reachable states.
type ExploreOptions struct {
	// TargetTerminal leaves states that are unsafe or goals unexpanded; by default
	// they are expanded like any other.
	TargetTerminal bool
	// Progress, if not nil, is called now and then with the counts so far.
	Progress func(Exploration)
}

// Exploration is the result of an enumeration.
type Exploration struct {
	States        int64 // reachable, the initial ones included
	InitialStates int64 // distinct
	Choices       int64 // applicable actions, summed over the expanded states
	Branches      int64 // outcomes of these; in edge mode destinations of positive probability, not merged
	Deadlocks     int64 // expanded states without applicable action
	Unsafe, Goal  int64 // states that are one or the other; only with TargetTerminal
	Expanded      int64
	PackedBytes   int64 // memory of states and their hash table
	Elapsed       time.Duration
	// NegativeRemainders is as in Stats.
	NegativeRemainders int64
	Complete           bool // false if a limit or an error ended the enumeration
}

// Explore enumerates the states that are reachable from the initial ones, breadth
// first. It stores nothing but the states. If a limit or an error ends it, the result
// says how far it came.
func Explore(ctx context.Context, task *jani.Task, initial iter.Seq2[[]jani.Value, error], options Options, explore ExploreOptions) (Exploration, error) {
	start := time.Now()
	sp, err := NewSpace(ctx, task, options)
	if err != nil {
		return Exploration{}, err
	}
	var r Exploration
	finish := func(err error) (Exploration, error) {
		r.States = int64(sp.states.count)
		r.PackedBytes, r.NegativeRemainders = sp.states.bytes(), sp.work.negatives
		r.Elapsed = time.Since(start)
		r.Complete = err == nil
		return r, err
	}
	for values, err := range initial {
		if err != nil {
			return finish(err)
		}
		if _, err := sp.Intern(values); err != nil {
			return finish(err)
		}
	}
	r.InitialStates = int64(sp.states.count)
	for s := StateID(0); uint32(s) < sp.states.count; s++ {
		if err := sp.step(); err != nil {
			return finish(err)
		}
		if s&0xffff == 0 && explore.Progress != nil {
			now, _ := finish(nil)
			explore.Progress(now)
		}
		if explore.TargetTerminal {
			class, err := sp.Class(s)
			if err != nil {
				return finish(err)
			}
			switch class {
			case ClassUnsafe:
				r.Unsafe++
				continue
			case ClassGoal:
				r.Goal++
				continue
			}
		}
		if err := sp.expandAll(s, &r); err != nil {
			return finish(err)
		}
		r.Expanded++
	}
	return finish(nil)
}

// expandAll interns all successors of s and counts choices and branches.
func (sp *Space) expandAll(s StateID, r *Exploration) error {
	k := sp.work
	w := sp.states.at(s)
	if err := k.enableAll(w); err != nil {
		return err
	}
	before := r.Choices
	k.out = k.out[:0]
	var err error
	for i := range k.labels {
		l := &k.labels[i]
		if l.race && r.Choices > before && sp.maximalProgress() {
			continue
		}
		from := len(k.out)
		visited := int64(0)
		k.choices(l, func() bool {
			visited++
			_, err = k.expand(w)
			return err == nil
		})
		if err != nil {
			return err
		}
		if visited == 0 {
			continue
		}
		switch {
		case sp.options.Choice == ByLabel:
			r.Choices++
			r.Branches += int64(k.dropDuplicates(from))
		case l.race:
			r.Choices++
			r.Branches += int64((len(k.out) - from) / k.layout.words)
		default:
			r.Choices += visited
			r.Branches += int64((len(k.out) - from) / k.layout.words)
		}
	}
	for n, from := k.layout.words, 0; from < len(k.out); from += n {
		if _, err := sp.intern(k.out[from : from+n]); err != nil {
			return err
		}
	}
	if r.Choices == before {
		r.Deadlocks++
	}
	return nil
}

// dropDuplicates removes repeated states from k.out[from:] and returns how many stay.
// Quadratic in the outcomes of one action, which are few.
func (k *worker) dropDuplicates(from int) int {
	n, kept := k.layout.words, from
next:
	for at := from; at < len(k.out); at += n {
		for other := from; other < kept; other += n {
			if equalWords(k.out[other:other+n], k.out[at:at+n]) {
				continue next
			}
		}
		copy(k.out[kept:kept+n], k.out[at:at+n])
		kept += n
	}
	k.out = k.out[:kept]
	return (kept - from) / n
}
