// Package certificate writes down verdicts on the safety of states with the evidence for
// them, and checks such files. The check evaluates conditions and transitions with the
// tree-walking interpreter of package interp only, and follows the rules below literally; it
// shares no code with the engine that computes transitions nor with the algorithms that
// decide. What it does share with them is the reading of JANI files and, for the radii below
// ∞ and for faults, the arithmetic of the policy's network.
//
// # What is claimed
//
// A state is r-safe if some policy that deviates from the policy under test π at most r times
// on every run (r = ∞: as often as it likes) reaches no unsafe state from it. Runs end in goals
// and in terminal states, which have no applicable action. A state that satisfies both
// conditions is unsafe. Let C(s,a) be 0 if r = ∞ or a = π(s), else 1. Let J* be the least
// function from states to {0, 1, …, ∞} such that
//
//	J(s) = ∞                                    if s is unsafe
//	     = 0                                    if s is a goal or terminal
//	     = min_a (C(s,a) + max_{t ∈ T(s,a)} J(t))   otherwise
//
// Then s is r-safe if and only if J*(s) ≤ r (r = ∞: J*(s) = 0, and 1 is as good as ∞).
//
// The choice mode says what an action a is. "label": an action label; its outcomes T(s,a) are
// those of all enabled composite edges with the label. "edge": an enabled composite edge. All
// enabled Markovian composite edges of a ctmc or ma are one action; in an ma with maximal
// progress it is applicable only where no other is. Outcomes of probability 0 do not count.
//
// π(s) is the applicable action whose label has the highest output of the network among the
// applicable labels that have an output, the first output on ties; with several edges of that
// label, the first one. If no applicable label has an output it is the first applicable
// action. A single applicable action is always π(s). "unfiltered": the highest output of all,
// and no action at all if its label is not applicable. The order of actions: labels as the
// model declares them, the silent action, the Markovian one; edges of one label by
// synchronisation vector, then by edge, the first participant's slowest.
//
// # The format fuzzsafe.certificate/1
//
// A file consists of lines, each a JSON object with exactly the members that are listed here.
// A STATE is an array with one value per name in "variables": integers as JSON integers of up
// to 64 bits, bools as true and false, reals as decimals that read back as the same double,
// locations as their names. ACTION is a label, "τ" for the silent and "λ" for the Markovian
// action (should a label be called so, either is meant). RADIUS is a string, a decimal number or "inf".
//
// The first line is the header:
//
//	{"schema": "fuzzsafe.certificate/1",
//	 "version": of the program that wrote the file; for people,
//	 "files": [{"role": ROLE, "file": name, "sha256": 64 hexadecimal digits} …],
//	 "constants": ["NAME=VALUE" …],  of the parameters of the model
//	 "property": NAME or FILE or FILE:NAME of the planning property, "" if none was asked for:
//	             the first one of the model
//	 "unsafe": EXPRESSION or @FILE, "goal": likewise; they replace the property's, "" does not
//	 "choice": "label" or "edge",
//	 "maximal_progress": true or false,
//	 "unfiltered": true or false,
//	 "radius": RADIUS,
//	 "variables": [NAME …]}  as interp.Names gives them
//
// The files are those that the verdicts depend on, by their bytes; one of ROLE "model", then
// as needed "property", "property part" (a file that the property refers to), "unsafe", "goal"
// (@FILE, with the files that it refers to), "interface" and "network" of the policy, the one
// that was asked for first. Files of one role are in the order in which they are read. The
// policy's are left out where the evidence does not depend on the policy: for radius ∞ without
// faults.
//
// Then follow, in any order, claims
//
//	{"claim": "safe", "index": I, "state": STATE}      the state is r-safe
//	{"claim": "unsafe", "index": I, "state": STATE}    the state is not r-safe
//	{"claim": "fault", "state": STATE, "action": ACTION, "outcome": STATE}
//	                                                   the state is r-safe, π takes the action in
//	                                                   it, and the outcome is one of that action
//	                                                   and not r-safe
//
// where indices, from 0, ascend; they say which of the states that were asked about is meant.
// And entries, the evidence:
//
//	{"safe": STATE, "action": ACTION, "bound": B}      J*(state) ≤ B
//	{"unsafe": STATE, "value": V, "rank": K}           J*(state) ≥ V
//
// The last line is
//
//	{"end": true, "claims": number of claims, "safe": of safe entries, "unsafe": of unsafe entries}
//
// # The rules
//
// A safe entry: 0 ≤ B ≤ r (0 for r = ∞). The state is not unsafe. It is a goal or terminal and
// there is no member "action"; or it is neither, and some applicable action a with that label
// is such that every t ∈ T(s,a) has a safe entry with C(s,a) + B(t) ≤ B(s). A state has at most
// one safe entry.
//
// An unsafe entry: 1 ≤ V ≤ r+1 (1 for r = ∞), K ≥ 0. K = 0 if and only if the state is
// unsafe. Otherwise it is neither a goal nor terminal, and for every applicable action a,
// V ≤ C(s,a) or some t ∈ T(s,a) has an unsafe entry of a value ≥ V − C(s,a) and a rank < K. A
// state may have several unsafe entries, with different values.
//
// A claim: a state claimed to be safe, and that of a fault, has a safe entry; a state claimed
// not to be safe, and the outcome of a fault, has an unsafe entry of value r+1 (r = ∞: 1).
//
// Why that suffices: on the states with safe entries, B and the actions are a policy and a
// bound that it keeps, for runs cannot leave them. And J*(s) ≥ V follows by induction over
// the ranks. Entries that no claim needs do no harm: they are checked, too.
package certificate
