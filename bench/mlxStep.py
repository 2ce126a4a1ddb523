"""One decode step of a small Qwen3 in plain MLX, as one would write it by hand: the yardstick of bench/mlxOverhead.ts.

Reads a GGUF with f32 weights, then answers each line of standard input (`mode steps`) with the median milliseconds of a step.
"""

import sys
import time

import mlx.core as mx
import numpy as np
from gguf import GGUFReader

reader = GGUFReader(sys.argv[1])
field = lambda name: reader.fields[name].contents()
layers, heads = field("qwen3.block_count"), field("qwen3.attention.head_count")
kv_heads, size = field("qwen3.attention.head_count_kv"), field("qwen3.attention.key_length")
eps, base = field("qwen3.attention.layer_norm_rms_epsilon"), field("qwen3.rope.freq_base")
w = {t.name: mx.array(np.array(t.data).reshape([int(d) for d in reversed(t.shape)])) for t in reader.tensors}
head = w.get("output.weight", w["token_embd.weight"])
LENGTH = 256


def step(token, past, caches):
    x = w["token_embd.weight"][token]
    mask = (mx.arange(LENGTH) <= past)[None]
    out = []
    for i in range(layers):
        p = lambda name: w[f"blk.{i}.{name}.weight"]
        h = mx.fast.rms_norm(x, p("attn_norm"), eps)
        q = (h @ p("attn_q").T).reshape(1, 1, heads, size)
        k = (h @ p("attn_k").T).reshape(1, 1, kv_heads, size)
        v = (h @ p("attn_v").T).reshape(1, 1, kv_heads, size)
        q = mx.fast.rms_norm(q, p("attn_q_norm"), eps).transpose(0, 2, 1, 3)
        k = mx.fast.rms_norm(k, p("attn_k_norm"), eps).transpose(0, 2, 1, 3)
        q = mx.fast.rope(q, size, traditional=False, base=base, scale=1.0, offset=past)
        k = mx.fast.rope(k, size, traditional=False, base=base, scale=1.0, offset=past)
        keys = mx.slice_update(caches[2 * i], k, past[None], (2,))
        values = mx.slice_update(caches[2 * i + 1], v.transpose(0, 2, 1, 3), past[None], (2,))
        out += [keys, values]
        y = mx.fast.scaled_dot_product_attention(q, keys, values, scale=size**-0.5, mask=mask)
        x = x + y.transpose(0, 2, 1, 3).reshape(1, heads * size) @ p("attn_output").T
        h = mx.fast.rms_norm(x, p("ffn_norm"), eps)
        g = h @ p("ffn_gate").T
        x = x + (g * mx.sigmoid(g) * (h @ p("ffn_up").T)) @ p("ffn_down").T
    logits = mx.fast.rms_norm(x, w["output_norm.weight"], eps) @ head.T
    best = mx.argmax(logits, axis=-1)
    return [best, mx.take_along_axis(logits, best[:, None], 1) - mx.logsumexp(logits, axis=1)] + out


# On a CPU this joins element-wise calls with a C++ compiler at run time; the other side is told to do the same.
compiled = mx.compile(step)
for line in sys.stdin:
    mode, steps = line.split()
    run = compiled if mode == "compiled" else step
    caches = [mx.zeros((1, kv_heads, LENGTH, size)) for _ in range(2 * layers)]
    token, times = 1, []
    for past in range(int(steps)):
        start = time.perf_counter()
        result = run(mx.array([token], dtype=mx.int32), mx.array(past, dtype=mx.int32), caches)
        caches = result[2:]
        mx.eval(result)
        token = result[0].item()
        result[1].item()
        times.append(time.perf_counter() - start)
        del result
    print(1000 * float(np.median(times)), token, flush=True)
