// Package algorithms holds the analyses: fuzzing a policy for unsafe runs, deciding the
// safety of states, and localising the decisions that are to blame.
package algorithms

import "fuzzsafe/engine"

// System is the transition system that the deciders work on. *engine.Space implements
// it for JANI models and enginetest.System for explicit little systems. Methods return
// an error if a state cannot be computed (a value out of its bounds) or a limit on
// states, memory or time is reached; what was computed before stays valid. Returned
// slices belong to the system, must not be changed, and stay valid.
type System interface {
	// Class returns whether s is unsafe, a goal or neither.
	Class(s engine.StateID) (engine.Class, error)
	// NumActions returns the number of actions that are applicable in s; 0 means that
	// s is terminal. Applicable actions are numbered 0, 1, … in model order.
	NumActions(s engine.StateID) (int, error)
	// Outcomes returns the states that applicable action i of s can lead to, without
	// duplicates and never none. The first call for a pair (s, i) generates it.
	Outcomes(s engine.StateID, i int) ([]engine.StateID, error)
	// Decision returns the number among the applicable actions of s of the one that
	// the policy under test takes, or −1 if there is none: no policy, or one whose
	// choice is not applicable and not replaced. s must have an action.
	Decision(s engine.StateID) (int, error)
	// KnownDecision returns what Decision returned for s earlier, −1 if it was never asked.
	KnownDecision(s engine.StateID) int
	// NumStates returns the number of states known so far: all identifiers that any
	// method has returned are below it.
	NumStates() int
}
