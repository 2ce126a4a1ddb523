"""The other side of bench/heavy.ts: NumPy (OpenBLAS), SciPy (pocketfft) and onnxruntime run the same shapes.

Reads lines of JSON `{"kind": …, "shapes": […], …, "seconds": s}` from standard input; answers each with the least seconds of one
run, in about `seconds` of running.
"""

import json
import sys
import time

import numpy as np
import onnx
import onnxruntime
import scipy.fft
from onnx import TensorProto, helper

threads = int(sys.argv[1])


def matmul(request, x):
    return lambda: x[0] @ x[1]


def fft(request, x):
    z = (x[0][..., : x[0].shape[-1] // 2] + 1j * x[0][..., x[0].shape[-1] // 2 :]).astype(np.complex64)
    return lambda: scipy.fft.fft(z, workers=threads)


def session(node, request, x):
    names = [f"x{i}" for i in range(len(x))]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, t.shape) for n, t in zip(names, x)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node(names)], "one", inputs, [output]), opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    made = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = dict(zip(names, x))
    return lambda: made.run(None, feed)


def conv(request, x):
    pad, stride = request["padding"], request["strides"]
    node = lambda names: helper.make_node(
        "Conv", names, ["y"], pads=pad + pad, strides=stride, group=request["groups"]
    )
    return session(node, request, x)


def attention(request, x):
    """Operands [batch, heads, rows, size] as the operator wants them: [batch, rows, heads * size]."""
    batch, heads, rows, size = x[0].shape
    flat = [np.ascontiguousarray(t.transpose(0, 2, 1, 3)).reshape(batch, t.shape[2], heads * size) for t in x]
    node = lambda names: helper.make_node(
        "MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=heads, unidirectional=int(request["causal"])
    )
    return session(node, request, flat)


KINDS = {"matmul": matmul, "fft": fft, "conv": conv, "attention": attention}
kept = {}

for line in sys.stdin:
    request = json.loads(line)
    key = line
    if key not in kept:
        rng = np.random.default_rng(1)
        operands = [rng.standard_normal(shape).astype(np.float32) for shape in request["shapes"]]
        kept[key] = KINDS[request["kind"]](request, operands)
        kept[key]()
    run, best, end = kept[key], float("inf"), time.perf_counter() + request["seconds"]
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    print(json.dumps(best), flush=True)
