"""The other side of bench/heavy.ts: NumPy (OpenBLAS), SciPy (pocketfft), onnxruntime and ggml run the same shapes.

Reads lines of JSON `{"kind": …, "shapes": […], …, "seconds": s}` from standard input; answers each with the least seconds of one
run, in about `seconds` of running.
"""

import ctypes as c
import json
import os
import sys
import time

import numpy as np
import onnx
import onnxruntime
import scipy.fft
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import llama

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


class GgmlMemory(c.Structure):
    _fields_ = [("size", c.c_size_t), ("buffer", c.c_void_p), ("no_alloc", c.c_bool)]


def ggml_functions():
    """ggml's plain C functions (ggml.h), of the build for this processor that RLX_LLAMA_CPU names."""
    base = c.CDLL(llama.find_library("ggml-base"), mode=c.RTLD_GLOBAL)
    cpu = c.CDLL(llama.find_library(f"ggml-cpu-{os.environ.get('RLX_LLAMA_CPU', 'zen4')}"), mode=c.RTLD_GLOBAL)
    pointer = c.c_void_p
    for name, result, arguments in (
        ("ggml_init", pointer, [GgmlMemory]),
        ("ggml_new_tensor_4d", pointer, [pointer, c.c_int] + [c.c_int64] * 4),
        ("ggml_gated_delta_net", pointer, [pointer] * 7),
        ("ggml_new_graph", pointer, [pointer]),
        ("ggml_build_forward_expand", None, [pointer] * 2),
        ("ggml_get_data_f32", pointer, [pointer]),
    ):
        getattr(base, name).restype, getattr(base, name).argtypes = result, arguments
    cpu.ggml_graph_compute_with_ctx.argtypes = [pointer, pointer, c.c_int]
    cpu.ggml_cpu_init()
    return base, cpu


def delta(_request, x):
    """Operands [tokens, heads, size] and [tokens, heads] as ggml names sizes: from the last on."""
    base, cpu = ggml_functions()
    context = base.ggml_init(GgmlMemory(1 << 30, None, False))
    heads, size, wide = x[5].shape
    tokens = len(x[0])
    gates = size if x[3].ndim == 3 else 1
    shapes = [(size, heads, tokens, 1)] * 2 + [(wide, heads, tokens, 1), (gates, heads, tokens, 1), (1, heads, tokens, 1)]
    tensors = [base.ggml_new_tensor_4d(context, 0, *shape) for shape in [*shapes, (wide, size, heads, 1)]]
    for tensor, values in zip(tensors, x):
        c.memmove(base.ggml_get_data_f32(tensor), values.ctypes.data, values.nbytes)
    graph = base.ggml_new_graph(context)
    base.ggml_build_forward_expand(graph, base.ggml_gated_delta_net(context, *tensors))
    return lambda: cpu.ggml_graph_compute_with_ctx(context, graph, threads)


KINDS = {"delta": delta, "matmul": matmul, "fft": fft, "conv": conv, "attention": attention}
kept = {}

for line in sys.stdin:
    request = json.loads(line)
    key = line
    if key not in kept:
        rng = np.random.default_rng(1)
        operands = [rng.standard_normal(shape).astype(np.float32) for shape in request["shapes"]]
        for i, (low, high) in enumerate(request.get("ranges", [])):
            operands[i] = rng.uniform(low, high, request["shapes"][i]).astype(np.float32)
        kept[key] = KINDS[request["kind"]](request, operands)
        kept[key]()
    run, best, end = kept[key], float("inf"), time.perf_counter() + request["seconds"]
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    print(json.dumps(best), flush=True)
