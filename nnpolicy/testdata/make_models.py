#!/usr/bin/python3
"""Draws small policies with fixed seeds, saves them with the tools that people use, and
writes what these tools compute for 1,000 inputs each:

    models/NAME.EXT       the policy
    models/NAME.json.gz   {"inputs": [[number ...] ...], "outputs": [[number ...] ...]}

Needs the Debian packages python3-torch, python3-onnx, python3-xgboost and
python3-sklearn. Usage: make_models.py [FOLDER]
"""

import gzip
import json
import os
import struct
import sys

import numpy as np
import onnx
import sklearn.ensemble
import sklearn.tree
import torch
import xgboost
from onnx import TensorProto, helper, numpy_helper

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "models")
ROWS = 1000


def path(name):
    return os.path.join(FOLDER, name)


def states(seed, inputs):
    """Values as models have them: booleans, small integers, one real."""
    r = np.random.default_rng(seed)
    x = r.integers(0, 16, (ROWS, inputs)).astype(np.float64)
    x[:, 0] = r.integers(0, 2, ROWS)
    x[:, 1] = np.round(r.normal(0, 3, ROWS), 3)
    return x


def expect(name, x, y):
    def row(values):
        return [int(v) if v == int(v) else float(format(v, ".9g")) for v in values]

    text = json.dumps({"inputs": [row(v) for v in x], "outputs": [row(v) for v in np.asarray(y)]}, separators=(",", ":"))
    with open(path(name + ".json.gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(text.encode())


def mlp(seed, sizes, activation, dtype=torch.float32):
    torch.manual_seed(seed)
    parts = []
    for k in range(1, len(sizes)):
        parts.append(torch.nn.Linear(sizes[k - 1], sizes[k]))
        if k < len(sizes) - 1:
            parts.append(activation())
    return torch.nn.Sequential(*parts).to(dtype).eval()


class Scaled(torch.nn.Module):
    """A network that normalises its inputs."""

    def __init__(self, inner, inputs, dtype):
        super().__init__()
        self.inner = inner
        self.register_buffer("mean", torch.full((inputs,), 7.5, dtype=dtype))
        self.register_buffer("deviation", torch.arange(1, inputs + 1, dtype=dtype))

    def forward(self, x):
        return self.inner((x - self.mean) / self.deviation)


class Named(torch.nn.Module):
    """A network whose layers have names without numbers, in an order that is not alphabetical."""

    def __init__(self):
        super().__init__()
        self.inward = torch.nn.Linear(5, 12)
        self.between = torch.nn.Linear(12, 12)
        self.action = torch.nn.Linear(12, 3)

    def forward(self, x):
        return self.action(torch.tanh(self.between(torch.tanh(self.inward(x)))))


def run(net, x, dtype=torch.float32):
    with torch.no_grad():
        return net(torch.tensor(x, dtype=dtype)).numpy()


def torch_models():
    x = states(1, 6)
    net = mlp(11, [6, 16, 16, 4], torch.nn.ReLU)
    torch.onnx.export(net, torch.zeros(1, 6), path("relu.onnx"), opset_version=13, input_names=["state"], output_names=["value"],
                      dynamic_axes={"state": {0: "batch"}, "value": {0: "batch"}})
    expect("relu", x, run(net, x))
    # The same network as a state dictionary and as safetensors.
    torch.save(net.state_dict(), path("relu.pt"))
    save_safetensors(net.state_dict(), path("relu.safetensors"))

    x = states(2, 5)
    net = Scaled(mlp(22, [5, 20, 10, 3], torch.nn.Tanh, torch.float64), 5, torch.float64).eval()
    torch.onnx.export(net, torch.zeros(1, 5, dtype=torch.float64), path("tanh.onnx"), opset_version=9)
    expect("tanh", x, run(net, x, torch.float64))

    net = Scaled(mlp(13, [5, 20, 3], torch.nn.ReLU), 5, torch.float32).eval()
    torch.onnx.export(net, torch.zeros(1, 5), path("scaled.onnx"), opset_version=11)
    expect("scaled", x, run(net, x))

    torch.manual_seed(14)
    net = Named().double().eval()
    torch.save(net.state_dict(), path("named.pth"))
    expect("named", x, run(net, x, torch.float64))


def save_safetensors(tensors, file):
    """The format of the safetensors library: length of the header, header, numbers."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(tensors):
        a = tensors[name].numpy()
        kind = {"float32": "F32", "float64": "F64"}[str(a.dtype)]
        header[name] = {"dtype": kind, "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(file, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def hand_made():
    """A graph with every operator that torch does not write above. The expected values are
    those of the definitions of the operators in NumPy."""
    r = np.random.default_rng(15)
    single = lambda *shape: r.normal(0, 0.5, shape).astype(np.float32)
    w1, b1, w2, b2, scale = single(7, 6), single(7), single(3, 7), single(1, 3), single(3)
    limit = np.float32(2)
    typed = lambda name, a: helper.make_tensor(name, TensorProto.FLOAT, a.shape, a.flatten().tolist())
    nodes = [
        helper.make_node("Cast", ["flags"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Concat", ["position", "numbers"], ["all"], axis=-1),
        helper.make_node("Constant", [], ["shape"], value=helper.make_tensor("", TensorProto.INT64, [3], [0, 2, -1])),
        helper.make_node("Reshape", ["all", "shape"], ["cube"]),
        helper.make_node("Transpose", ["cube"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("Constant", [], ["half"], value_float=0.5),
        helper.make_node("Sub", ["turned", "half"], ["moved"]),
        helper.make_node("Div", ["moved", "divisors"], ["divided"]),
        helper.make_node("Flatten", ["divided"], ["flat"]),
        helper.make_node("Transpose", ["w1"], ["w1t"]),
        helper.make_node("MatMul", ["flat", "w1t"], ["product"], name="first layer"),
        helper.make_node("Add", ["b1", "product"], ["sum"]),
        helper.make_node("Sigmoid", ["sum"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "w2", "b2"], ["linear"], alpha=0.5, beta=2.0, transB=1),
        helper.make_node("Mul", ["linear", "scale"], ["scaled"]),
        helper.make_node("Identity", ["scaled"], ["same"]),
        helper.make_node("Tanh", ["same"], ["bent"]),
        helper.make_node("Relu", ["bent"], ["positive"]),
        helper.make_node("Min", ["same", "limit"], ["low"]),
        helper.make_node("Max", ["low", "bent"], ["high"]),
        helper.make_node("Add", ["high", "positive"], ["value"]),
    ]
    graph = helper.make_graph(
        nodes, "by hand",
        [helper.make_tensor_value_info("position", TensorProto.FLOAT, ["batch", 4]),
         helper.make_tensor_value_info("flags", TensorProto.INT64, ["batch", 2])],
        [helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch", 3])],
        [typed("w1", w1), numpy_helper.from_array(b1, "b1"), typed("w2", w2), numpy_helper.from_array(b2, "b2"),
         numpy_helper.from_array(scale, "scale"), typed("limit", np.array(limit)),
         numpy_helper.from_array(np.array([[1], [2], [4]], np.float32), "divisors")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path("hand.onnx"))

    x = states(3, 6)
    flat = (x.reshape(-1, 2, 3).transpose(0, 2, 1) - 0.5) / np.array([[1], [2], [4]])
    hidden = 1 / (1 + np.exp(-(flat.reshape(-1, 6) @ w1.T.astype(np.float64) + b1)))
    linear = (0.5 * hidden @ w2.T.astype(np.float64) + 2 * b2) * scale
    bent = np.tanh(linear)
    expect("hand", x, np.maximum(np.minimum(linear, limit), bent) + np.maximum(bent, 0))


def classes(x, n):
    """Some function of the states with n results."""
    return ((x[:, 0] * 3 + x[:, 2] * x[:, 3] // 7 + np.abs(x[:, 1]) * 2).astype(int)) % n


def boosted():
    x = states(4, 5)
    y = classes(x, 4)
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 4, "max_depth": 4, "seed": 16, "nthread": 1},
                            xgboost.DMatrix(x, label=y), num_boost_round=5)
    booster.save_model(path("boosted_classes.json"))
    expect("boosted_classes", x, booster.predict(xgboost.DMatrix(x), output_margin=True))
    values = np.stack([np.sin(x[:, 1]) + x[:, 2] / 4, np.cos(x[:, 3]), x[:, 0] - x[:, 4] / 16], axis=1)
    booster = xgboost.train({"objective": "reg:squarederror", "max_depth": 3, "seed": 17, "nthread": 1, "base_score": 0.25},
                            xgboost.DMatrix(x, label=values), num_boost_round=6)
    booster.save_model(path("boosted_values.json"))
    expect("boosted_values", x, booster.predict(xgboost.DMatrix(x), output_margin=True))


def save_trees(classifier, file, inputs, outputs):
    """Writes a DecisionTreeClassifier or a RandomForestClassifier (or ExtraTrees) for the
    analyser. inputs are the names of the features, outputs the action labels in the order of
    classifier.classes_; both may be left out (None)."""
    trees = []
    for estimator in getattr(classifier, "estimators_", [classifier]):
        t = estimator.tree_
        trees.append({
            "children_left": t.children_left.tolist(), "children_right": t.children_right.tolist(),
            "feature": t.feature.tolist(), "threshold": t.threshold.tolist(), "value": t.value[:, 0, :].tolist(),
        })
    content = {"schema": "fuzzsafe.trees/1", "features": classifier.n_features_in_, "trees": trees}
    if inputs:
        content["inputs"] = inputs
    if outputs:
        content["outputs"] = outputs
    with open(file, "w") as f:
        json.dump(content, f, separators=(",", ":"))


def forests():
    x = states(5, 5)
    y = classes(x, 3)
    forest = sklearn.ensemble.RandomForestClassifier(n_estimators=7, max_depth=6, random_state=18).fit(x, y)
    save_trees(forest, path("forest.json"), ["b", "r", "x", "y", "z"], ["go", "stop", "load"])
    expect("forest", x, forest.predict_proba(x))
    tree = sklearn.tree.DecisionTreeClassifier(max_depth=8, random_state=19).fit(x, y)
    save_trees(tree, path("tree.json"), None, None)
    expect("tree", x, tree.predict_proba(x))


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    torch_models()
    hand_made()
    boosted()
    forests()
