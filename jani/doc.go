// Package jani reads planning and verification models in the JANI language.
//
// The way of a model through the package:
//
//	text ── Parse ──► *Document ── Compile ──► *Model ── (engine) ──► transitions
//	         strict JSON,   names, types,        flat variables,
//	         syntax tree    constants            automaton instances,
//	                                             synchronisation vectors,
//	                                             typed expressions
//
// A Document is what the file says, with the place of everything. A Model is what
// it means: every name is resolved, every constant folded, every array unrolled into
// scalar variables, locations are variables too. Both are immutable once made and
// may be shared between goroutines.
//
// Sources: Budde, Dehnert, Hahn, Hartmanns, Junges, Turrini, "JANI: Quantitative
// Model and Tool Interaction", TACAS 2017, and the jani-specification.
package jani
