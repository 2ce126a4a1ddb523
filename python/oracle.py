"""One long-lived process that answers the tests' questions with other people's implementations.

    python/oracle.py            speaks frames on standard input and output (main/testing/oracle.ts is the client)
    python/oracle.py --list     prints every question it can answer

A frame is `u32 length of JSON, u32 length of data, JSON, data` (little endian). In the JSON an array is written as
{"$tensor": [offset, byte length, stored as, dtype, shape]} and stands for a piece of the data.
A request is {id, ask: "family.question", ...arguments}; an answer {id, value} or {id, error: {kind, message}}.
Families are the modules in answers/; a module is imported when it is first asked, so JAX costs nothing until it is needed.
"""

import importlib
import inspect
import json
import math
import os
import struct
import sys
import traceback

FAMILIES = ("numpy", "jax", "optim", "mlx", "ggml", "coreml", "llama", "jinja", "model", "hf", "quantize")

# The answers own the real standard output; whatever a library prints goes to standard error instead.
_channel_out = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
os.dup2(2, 1)
_channel_in = sys.stdin.buffer


def _read_exactly(count):
    parts = []
    while count > 0:
        part = _channel_in.read(count)
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _decode(value, data):
    if isinstance(value, dict):
        if "$tensor" in value:
            return _decode_tensor(*value["$tensor"], data)
        return {key: _decode(item, data) for key, item in value.items()}
    if isinstance(value, list):
        return [_decode(item, data) for item in value]
    return value


# How the data of an array is stored between the two processes. JavaScript has no halves, so f16 and bf16 travel as
# f32, c64 as pairs of f32: "dtype" says what an array is, "stored" how its bytes are to be read.
_STORED = {
    "f32": "<f4", "f64": "<f8", "i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
    "u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
}  # fmt: skip


def _numpy_dtype(name):
    import ml_dtypes
    import numpy as np

    special = {"bool": np.bool_, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "c64": np.complex64, "c128": np.complex128}
    if name not in special and name not in _STORED:
        raise ValueError(f"unknown dtype {name}")
    return np.dtype(special.get(name) or _STORED[name])


def _decode_tensor(offset, size, stored, dtype, shape, data):
    import numpy as np

    piece = data[offset : offset + size]
    if dtype == "bytes":
        return bytes(piece)
    flat, target = np.frombuffer(piece, dtype=_STORED[stored]), _numpy_dtype(dtype)
    if target.kind == "c":
        # Part by part: an infinite one times 1j would spoil the other.
        made = np.empty(len(flat) // 2, target)
        made.real, made.imag = flat[0::2], flat[1::2]
        return made.reshape(shape)
    return flat.astype(target).reshape(shape)


def _encode(value, chunks, size):
    """Replaces arrays and bytes by references into the data; `size` is a one-element list: bytes so far."""
    if isinstance(value, (bytes, bytearray)):
        return _append("u8", "bytes", [len(value)], bytes(value), chunks, size)
    if isinstance(value, float) and not math.isfinite(value):
        return {"$number": str(value)}
    if hasattr(value, "__array__") and not isinstance(value, (str, int, float, bool)):
        return _encode_tensor(value, chunks, size)
    if isinstance(value, dict):
        return {str(key): _encode(item, chunks, size) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(item, chunks, size) for item in value]
    return value


def _encode_tensor(value, chunks, size):
    import numpy as np

    array = np.ascontiguousarray(np.asarray(value)).reshape(np.shape(value))
    kind, shape = array.dtype, list(array.shape)
    if kind == np.bool_:
        return _append("u8", "bool", shape, array.tobytes(), chunks, size)
    if kind == np.float16 or kind.name == "bfloat16":
        return _append("f32", "f16" if kind == np.float16 else "bf16", shape, array.astype("<f4").tobytes(), chunks, size)
    if kind.kind == "c":
        half = "f32" if kind.itemsize == 8 else "f64"
        return _append(half, "c64" if half == "f32" else "c128", shape, array.tobytes(), chunks, size)
    for name, code in _STORED.items():
        if kind == np.dtype(code):
            return _append(name, name, shape, array.tobytes(), chunks, size)
    raise TypeError(f"cannot send an array of {kind}")


def _append(stored, dtype, shape, data, chunks, size):
    offset = size[0]
    padding = -len(data) % 8
    chunks.append(data + b"\0" * padding)
    size[0] = offset + len(data) + padding
    return {"$tensor": [offset, len(data), stored, dtype, shape]}


def questions(family):
    """The public functions of a family's module, by name."""
    if family not in FAMILIES:
        raise LookupError(f"unknown family {family}, have {', '.join(FAMILIES)}")
    module = importlib.import_module(f"answers.{family}_answers")
    return {
        name: function
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }


def answer(request, data):
    family, _, name = request.pop("ask").partition(".")
    known = questions(family)
    if name not in known:
        raise LookupError(f"{family} has no question {name}, it has {', '.join(sorted(known))}")
    return known[name](**_decode(request, data))


def _send(message, chunks, size):
    text = json.dumps(message).encode()
    _channel_out.write(struct.pack("<II", len(text), size[0]))
    _channel_out.write(text)
    for chunk in chunks:
        _channel_out.write(chunk)
    _channel_out.flush()


def serve():
    while True:
        head = _read_exactly(8)
        if head is None:
            return
        text_length, data_length = struct.unpack("<II", head)
        request = json.loads(_read_exactly(text_length))
        data = memoryview(_read_exactly(data_length) if data_length else b"")
        number, chunks, size = request.pop("id"), [], [0]
        try:
            message = {"id": number, "value": _encode(answer(request, data), chunks, size)}
        except Exception as error:  # every failure is an answer; the process goes on
            frames = traceback.format_exception_only(type(error), error)
            chunks, size = [], [0]
            message = {"id": number, "error": {"kind": type(error).__name__, "message": "".join(frames).strip()}}
        _send(message, chunks, size)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    if "--list" in sys.argv:
        for family in FAMILIES:
            for name, function in sorted(questions(family).items()):
                summary = (inspect.getdoc(function) or "").splitlines()[0:1]
                print(f"{family}.{name}{inspect.signature(function)}: {''.join(summary)}", file=sys.stderr)
    else:
        serve()
