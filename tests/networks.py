"""Tiny ONNX networks for tests, and the TOML beside them."""

import json

import numpy as np
from onnx import TensorProto, helper, numpy_helper

CELL = 4


def save_network(
    folder, nodes=None, outputs=("map", "vector"), constants=(), name="tiny", shape=None, **fields
):
    """Write a network and its TOML, and return the TOML; fields of None are left out.

    Without nodes it averages cells of 4 × 4 pixels ("map") and the whole picture ("vector").
    """
    folder.mkdir(exist_ok=True)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, shape or [1, 3, "h", "w"])
    values = [helper.make_empty_tensor_value_info(output) for output in outputs]
    graph = helper.make_graph(nodes or averages(), "tiny", [image], values, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    return save_toml(folder, name, **fields)


def save_toml(folder, name="tiny", **fields):
    usual = {"model": f"{name}.onnx", "input": "image", "size": 32, "multiple": CELL, "mean": 100, "std": 50}
    given = {**usual, "regions": ["map"], "picture": ["vector"], **fields}
    lines = [f"{key} = {shown(value)}\n" for key, value in given.items() if value is not None]
    (folder / f"{name}.toml").write_text("".join(lines))
    return folder / f"{name}.toml"


def shown(value):
    return json.dumps(value).replace("NaN", "nan")  # TOML writes the rest as JSON does


def averages():
    kernel = {"kernel_shape": [CELL, CELL], "strides": [CELL, CELL]}
    return [
        node("AveragePool", ["image"], "map", **kernel),
        node("GlobalAveragePool", ["map"], "means"),
        node("Flatten", ["means"], "vector"),
    ]


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], **attributes)


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)
