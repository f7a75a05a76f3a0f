"""Open an untrusted ONNX file: bounded in size, self-contained, and run on one thread.

The file is read whole, and its digest is taken from the bytes that are then run. Refused are references to
other files, which the digest does not cover, and loops, which might never end. Libraries of custom operators
are never loaded, so a network is made of onnxruntime's own operators or is refused.
"""

import hashlib
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagmix.errors import NetworkError, printable
from tagmix.images.network_file import NetworkSettings, bytes_of, shown

MAX_MODEL_BYTES = 2**30  # Protobuf, which ONNX is written in, ends at twice this
MAX_CHANNELS, MAX_NUMBERS = 2**14, 2**26  # of an output
LOOPS = frozenset({"Loop", "Scan"})
# Their output differs from run to run.
CHANCE = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
)
EXTERNAL = 1  # of TensorProto.data_location
LISTED = 8  # names in an error


def needed(module: str) -> Any:
    """Return a module of the extra; NetworkError with the way to install it if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise NetworkError(
            f"networks need the package {module.partition('.')[0]}, which is not installed ({error!s:.100}): "
            "from the clone of tagmix, python -m pip install '.[network]'."
        ) from error


def content_of(model: Path, sha256: object = None) -> tuple[bytes, str]:
    """Return the bytes of a network's file and their digest, which must be this one if one is given."""
    content = bytes_of(model, MAX_MODEL_BYTES)
    digest = hashlib.sha256(content).hexdigest()
    if sha256 is not None and sha256 != digest:
        raise NetworkError(
            f"the network {shown(model)} must have sha256 {sha256!s:.16}…, got {digest[:16]}…: it was "
            "changed or damaged; make or download it again."
        )
    return content, digest


def opened(content: bytes, settings: NetworkSettings, model: Path) -> Any:
    """Return an onnxruntime session of these bytes with the outputs of the settings, on one thread."""
    runtime = needed("onnxruntime")
    proto = _checked(content, settings, shown(model))
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # a process a core, and the same bits
    options.log_severity_level = 4  # what is wrong comes as an exception
    try:
        session = runtime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's classes have no common one of their own
        raise NetworkError(
            f"the network {shown(model)} must be an ONNX file that onnxruntime can run, got: "
            f"{first_line(error)}; export it again."
        ) from error
    _check_input(session.get_inputs(), settings, shown(model))
    return session


def run(
    session: Any, settings: NetworkSettings, batch: NDArray[np.float32], model: Path
) -> dict[str, NDArray[Any]]:
    """Return the outputs for one prepared picture by name, their form checked but not their values."""
    names = list(settings.outputs)
    try:
        outputs = dict(zip(names, session.run(names, {settings.input: batch}), strict=True))
    except Exception as error:
        rows, columns = batch.shape[2:]
        raise NetworkError(
            f"the network {shown(model)} must run on {columns} × {rows} pixels, got: {first_line(error)}; "
            "set size and multiple in its TOML to what it takes."
        ) from error
    for name, output in outputs.items():
        ranks = (4,) if name in settings.regions else (2, 4)
        _check_output(name, output, (*ranks, 3) if settings.tokens else ranks)
    return outputs


def first_line(error: Exception) -> str:
    """Return the message of an error, in one short line."""
    return printable(" ".join(str(error).split()))[:200]


def _checked(content: bytes, settings: NetworkSettings, name: str) -> Any:
    """Return the parsed network, with the layers of the settings among its outputs."""
    onnx = needed("onnx")
    try:
        proto = onnx.load_model_from_string(content)
    except Exception as error:
        raise NetworkError(
            f"the network {name} must be an ONNX file, but is not: export it again."
        ) from error
    off = _switched_off(proto.graph, onnx)
    for message in _messages(proto):
        kind = message.DESCRIPTOR.name
        if kind == "TensorProto" and (message.data_location == EXTERNAL or len(message.external_data)):
            raise NetworkError(
                f"the network {name} must hold its own weights, tensor {message.name!r:.60} is in another "
                "file: save it as one file."
            )
        if kind == "NodeProto" and message.op_type in LOOPS:
            raise NetworkError(
                f"the network {name} must run straight through, it has the operator {message.op_type}: "
                "export it without loops."
            )
        if kind == "NodeProto" and (message.op_type in CHANCE or _drops_out(message, off)):
            raise NetworkError(
                f"the network {name} must give the same output for the same picture, it has the operator "
                f"{message.op_type}: export it for inference."
            )
        if kind == "FunctionProto":  # a few that call each other are a billion operators
            raise NetworkError(
                f"the network {name} must be made of operators, it has the function {message.name!r:.60}: "
                "export it with functions inlined."
            )
    _expose(proto.graph, settings.outputs, name, onnx)
    return proto


def _drops_out(node: Any, off: set[str]) -> bool:
    """Return whether this is a Dropout in training mode, which is its third input."""
    return node.op_type == "Dropout" and not {*node.input[2:]} <= off


def _switched_off(graph: Any, onnx: Any) -> set[str]:
    """Return the names of constants that are false, and no name: what leaves a Dropout without effect."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            constants |= {
                name: own.t for name in node.output for own in node.attribute if own.name == "value"
            }
    flags = {name: own for name, own in constants.items() if own.data_type == onnx.TensorProto.BOOL}
    return {""} | {name for name, own in flags.items() if not onnx.numpy_helper.to_array(own).any()}


def _messages(proto: Any) -> Iterator[Any]:
    """Yield a message and all within it, whatever fields a later ONNX may add."""
    pending = [proto]
    while pending:
        message = pending.pop()
        yield message
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending.extend([value] if hasattr(value, "ListFields") else value)


def _expose(graph: Any, wanted: tuple[str, ...], name: str, onnx: Any) -> None:
    """Make these layers outputs of the graph; those that do not exist are refused."""
    outputs = {output.name for output in graph.output}
    layers = {value for node in graph.node for value in node.output if value}
    for layer in dict.fromkeys(wanted):
        if layer not in outputs | layers:
            near = get_close_matches(layer, layers, LISTED)
            some = [*sorted(outputs), *(value for value in near if value not in outputs)][:LISTED]
            raise NetworkError(
                f"the network {name} has no output or layer {layer!r:.60}; it has "
                f"{printable(', '.join(some)):.200} ({len(layers | outputs):,} in all): name one of those."
            )
        if layer not in outputs:
            graph.output.append(onnx.ValueInfoProto(name=layer))


def _check_input(inputs: list[Any], settings: NetworkSettings, name: str) -> None:
    known = {one.name: one for one in inputs}
    own = known.get(settings.input)
    if own is None or len(known) != 1:
        raise NetworkError(
            f"the network {name} must take one input, {settings.input!r:.60}, it takes "
            f"{printable(', '.join(known)):.200}: name it in the TOML, or export it for pictures alone."
        )
    other = len(own.shape) != 4 or (isinstance(own.shape[1], int) and own.shape[1] != 3)  # or a letter
    if own.type != "tensor(float)" or other:
        raise NetworkError(
            f"the network {name} must take float32 of 1 × 3 × height × width, it takes {own.type} of "
            f"{own.shape!s:.80}: export it so."
        )


def _check_output(name: str, output: Any, ranks: tuple[int, ...]) -> None:
    shape: tuple[int, ...] = getattr(output, "shape", ())  # a sequence of arrays has none
    dtype = getattr(output, "dtype", np.dtype(object))
    form = {2: "1 × channels", 3: "1 × tokens × channels", 4: "1 × channels × rows × columns"}
    grid = ", or add tokens = {cls = …, patch = …}" if len(shape) == 3 and 3 not in ranks else ""
    if len(shape) not in ranks or shape[0] != 1 or dtype.kind != "f" or not output.size:
        raise NetworkError(
            f"the network's output {name!r:.60} must be floats of {' or '.join(form[r] for r in ranks)}, got "
            f"{dtype} of {shape}: name another output{grid}."
        )
    channels = shape[2 if len(shape) == 3 else 1]
    if channels > MAX_CHANNELS or output.size > MAX_NUMBERS:
        raise NetworkError(
            f"the network's output {name!r:.60} must have at most {MAX_CHANNELS:,} channels and "
            f"{MAX_NUMBERS:,} numbers, got {channels:,} and {output.size:,}: name a smaller one."
        )
