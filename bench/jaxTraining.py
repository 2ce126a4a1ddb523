"""Training steps of JAX (jit, its state donated) for the nets of bench/training.ts: AdamW of optax on the same shapes.

Reads lines of JSON `{"net": …, "steps": n}` from standard input, and answers each with the seconds of those steps. What a net is
made of comes with the line: shapes of its weights and its sizes.
"""

import json
import sys
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def mlp(p, x, labels):
    hidden = jax.nn.relu(x @ p["hidden.weight"].T + p["hidden.bias"])
    return cross_entropy(hidden @ p["head.weight"].T + p["head.bias"], labels)


def pooled(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def digits(p, images, labels):
    x = images.reshape(-1, 1, 28, 28)
    for layer in ("conv1", "conv2"):
        x = jax.lax.conv(x, p[f"{layer}.weight"], (1, 1), "SAME") + p[f"{layer}.bias"]
        x = pooled(jax.nn.relu(x))
    return cross_entropy(x.reshape(x.shape[0], -1) @ p["head.weight"].T + p["head.bias"], labels)


def rms_norm(x, gain):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gain


def characters(p, tokens, following, *, layers, heads):
    rows, context = tokens.shape
    x = p["embedding"][tokens] + p["positions"]
    width = x.shape[-1]
    mask = jnp.tril(jnp.ones((context, context), bool))
    for i in range(layers):
        own = lambda name: p[f"layers.{i}.{name}"]
        qkv = rms_norm(x, own("norm1")) @ own("qkv").T
        q, k, v = (part.reshape(rows, context, heads, -1).transpose(0, 2, 1, 3) for part in jnp.split(qkv, 3, -1))
        scores = jnp.where(mask, q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // heads), -jnp.inf)
        seen = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(rows, context, width)
        x = x + seen @ own("attended").T
        x = x + jax.nn.relu(rms_norm(x, own("norm2")) @ own("up").T) @ own("down").T
    logits = rms_norm(x, p["norm"]) @ p["head"].T
    return cross_entropy(logits.reshape(rows * context, -1), following.reshape(-1))


def run(request):
    rng = np.random.default_rng(1)
    params = {n: jnp.asarray(rng.uniform(-0.05, 0.05, s), jnp.float32) for n, s in request["weights"].items()}
    batch = request["batch"]
    if request["net"] == "characters":
        loss = partial(characters, layers=request["layers"], heads=request["heads"])
        context = request["context"]
        data = [rng.integers(0, request["words"], (batch, context), dtype=np.int32) for _ in range(2)]
    else:
        loss = {"mlp": mlp, "digits": digits}[request["net"]]
        data = [rng.uniform(size=(batch, 784)).astype(np.float32), rng.integers(0, 10, batch, dtype=np.int32)]
    optimizer = optax.adamw(1e-3)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, *data):
        value, gradients = jax.value_and_grad(loss)(params, *data)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    state = optimizer.init(params)
    for _ in range(3):
        params, state, value = step(params, state, *data)
    value.block_until_ready()
    start = time.perf_counter()
    for _ in range(request["steps"]):
        params, state, value = step(params, state, *data)
        float(value)
    return time.perf_counter() - start


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
