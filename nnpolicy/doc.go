// Package nnpolicy reads policies under test and binds them to a model.
//
//	NAME.jani2nnet ───── ReadInterface ────► *Interface ─┐
//	                                                     ├── Bind ──► *Policy (engine.Policy)
//	NAME.nnet ────────── ReadNNet ─────────► Function ───┘
//	NAME.onnx            ReadONNX
//	NAME.pt, NAME.pth    ReadTorch
//	NAME.safetensors     ReadSafetensors
//	NAME.json            ReadTable, ReadTrees, ReadXGBoost
//
// Load does all of it for a file name. A Function, such as a Network, maps numbers to
// numbers; the interface says which variable each input is and which action label each
// output stands for; a Policy is both, resolved against one model. Tables and trees may
// name their inputs and outputs themselves.
package nnpolicy
