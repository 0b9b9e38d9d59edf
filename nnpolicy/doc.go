// Package nnpolicy reads policies under test and binds them to a model.
//
//	NAME.jani2nnet ── ReadInterface ──► *Interface ──┐
//	                                                 ├── Bind ──► *Policy (engine.Policy)
//	NAME.nnet ─────── ReadNNet ───────► *Network ────┘               │
//	NAME.json ─────── ReadTable ──────► *Table ──────────────────────┘
//
// Load does all of it for a file name. A Function, such as a network, maps numbers to
// numbers; the interface says which variable each input is and which action label each
// output stands for; a Policy is both, resolved against one model. A table names its
// inputs and outputs itself.
package nnpolicy
