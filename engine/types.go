// Package engine turns a compiled JANI model into an explicit transition system whose
// states are packed into bits, stored once and numbered, and whose per-state facts
// (class, applicable actions, outcomes, decision of the policy under test) are computed
// at most once and shared by everything that asks.
package engine

import "fuzzsafe/jani"

// StateID numbers the states of a Space from 0 in the order of their discovery;
// NoState is none.
type StateID uint32

// NoState is the null value of StateID.
const NoState = ^StateID(0)

// Class is what a run does in a state.
type Class uint8

const (
	// ClassUnknown is the zero value: not computed.
	ClassUnknown Class = iota
	// ClassOrdinary states are expanded; one without applicable action is terminal.
	ClassOrdinary
	// ClassGoal states end a run well and are never expanded by an analysis.
	ClassGoal
	// ClassUnsafe states satisfy the unsafe condition, whether or not they are goals.
	ClassUnsafe
)

// Policy is a policy under test bound to a model: a function from the values of some
// variables to one number per output, the larger the better.
type Policy interface {
	// Inputs returns the variables that are fed to Evaluate, in order. A variable
	// may occur more than once.
	Inputs() []jani.VarID
	// Outputs returns the action label that each output stands for.
	Outputs() []jani.ActionID
	// Evaluate writes the value of every output for the given inputs. The value −Inf
	// says that the policy has no output for that label there, as a decision table in a
	// state that it does not list. Evaluate does not keep its arguments and gives equal
	// results for equal inputs.
	Evaluate(in, out []float64) error
}
