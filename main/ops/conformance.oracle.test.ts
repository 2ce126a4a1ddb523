/**
 * The references against implementations we did not write: NumPy, SciPy and JAX in float64. One expression per op over
 * its operands x0, x1, …, its attributes `a` and the shape `s` of its first result; several results as a tuple.
 */
import { describe, expect, it } from "vitest";
import type { HostTensor } from "../ir/hostTensor.ts";
import { isFloat } from "../ir/dtype.ts";
import { jaxEval, numpyEval, oracleMissing, tensor } from "../testing/oracle.ts";
import type { OracleInputs, OracleTensor } from "../testing/oracle.ts";
import { evaluate } from "./evaluate.ts";
import type { OpName } from "./index.ts";
import { OPS, opOf } from "./index.ts";
import { inputName, sampleGraph, sampleRun, sampleTensors } from "./sampleData.ts";

type Oracle = string | { readonly jax: string };

const unary = (f: string): string => `np.${f}(x0)`;
const axis = 'a["axis"]';
const rms = "lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)";
const sigmoid = "scipy.special.expit";
const turn = `
def turn(x, c, s, dims, style):
    z = x.copy()
    first, second = (slice(0, dims // 2), slice(dims // 2, dims)) if style == "neox" else (slice(0, dims, 2), slice(1, dims, 2))
    w = (x[..., first] + 1j * x[..., second]) * (c + 1j * s)[:, None, :]
    z[..., first], z[..., second] = w.real, w.imag
    return z
`.trim();
const append = `
def append(cache, new, past):
    out = cache.copy()
    out[:, past : past + new.shape[0]] = np.swapaxes(new, 0, 1)
    return out
`.trim();
/** Two lines of a block become one statement for the oracle, which runs what stands before the last line. */
const lines = (...parts: readonly string[]): string => parts.join("\n\n");

const lstm = `
def run(x, wih, whh, b, h0, c0, hidden, layers, both):
    dirs, (batch, steps, _) = (2 if both else 1), x.shape
    wih, whh, b = wih.ravel(), whh.ravel().reshape(-1, 4 * hidden, hidden), b.ravel().reshape(-1, 4 * hidden)
    hs, cs, at = [], [], 0
    for layer in range(layers):
        outs, width = [], x.shape[2]
        for d in range(dirs):
            i = layer * dirs + d
            w, at = wih[at : at + 4 * hidden * width].reshape(4 * hidden, width), at + 4 * hidden * width
            h, c, seq = h0[i], c0[i], [None] * steps
            for t in range(steps)[:: -1 if d else 1]:
                gi, gf, gg, go = np.split(x[:, t] @ w.T + h @ whh[i].T + b[i], 4, axis=1)
                c = scipy.special.expit(gf) * c + scipy.special.expit(gi) * np.tanh(gg)
                h = scipy.special.expit(go) * np.tanh(c)
                seq[t] = h
            outs.append(np.stack(seq, 1)); hs.append(h); cs.append(c)
        x = np.concatenate(outs, 2)
    return x, np.stack(hs), np.stack(cs)
`.trim();

/** softmax(softcap(scale q kᵀ) + bias) v by JAX, key heads repeated; the mask is given as booleans or as a bias. */
const jaxAttention = (mask: string): string =>
  lines(
    `
def attend(q, k, v, keep, bias):
    g = q.shape[1] // k.shape[1]
    s = a["scale"] * jnp.einsum("bhqd,bhkd->bhqk", q, jnp.repeat(k, g, 1))
    s = a["softcap"] * jnp.tanh(s / a["softcap"]) if "softcap" in a else s
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s + bias, -1, where=keep), jnp.repeat(v, g, 1))
`.trim(),
    mask,
  );

/** JAX's own control flow over functions written by hand, by the title of the sample. */
const jaxIf = lines(
  `
branches = {
    "either branch": (lambda x, y: (jnp.tanh(x) * y,), lambda x, y: (x - y,)),
    "two results, the other branch divides by zero": (lambda x, y: (y / (x - x), x), lambda x, y: (x * y, jnp.log(x))),
    "symbolic, an operand handed through": (lambda x, y: (y, x + y), lambda x, y: (x, y)),
    "one inside the other": (lambda p, x: (jax.lax.cond(p, jnp.exp, lambda y: y * jax.nn.sigmoid(y), x),), lambda p, x: (x,)),
    "whole numbers": (lambda x: (-x,), lambda x: (x + x,)),
    "a packed weight": (lambda x, w: (x @ w.T,), lambda x, w: (-(x @ w.T),)),
}
`.trim(),
  "yes, no = branches[a['title'].removesuffix(', float64')]",
  "jax.lax.cond(x0, yes, no, *xs[1:])",
);
const jaxWhile = lines(
  `
def inner(x):
    return jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, jnp.sin(2 * c[1])), (0, x))[1]
`.trim(),
  `
loops = {
    "counted, an operand that stays": (lambda n, x, y: n < 4, lambda n, x, y: (n + 1, jnp.tanh(x * y + y), y)),
    "until the values say so, without a limit": (lambda x: x.min() < 50, lambda x: (1.5 * x + 0.25,)),
    "no turn at all": (lambda x, y: False, lambda x, y: (x * y, jnp.sin(y))),
    "stopped by its limit, values change places": (lambda x, y: True, lambda x, y: (y, 0.5 * x + y)),
    "symbolic, over the rows of a table": (lambda i, x, t: True, lambda i, x, t: (i + 1, jnp.tanh(x + t[i]), t)),
    "a packed weight that stays": (lambda n, x, w: n < 3, lambda n, x, w: (n + 1, jnp.tanh(x @ w.T), w)),
    "a loop and a choice inside": (lambda n, x: n < 3, lambda n, x: (n + 1, jnp.where(n < 1, inner(x) ** 2, -inner(x)))),
}
`.trim(),
  "go, body = loops[a['title'].removesuffix(', float64')]",
  "most = a.get('maxIterations', 10**6)",
  "end = jax.lax.while_loop(lambda c: jnp.logical_and(c[0] < most, go(*c[1])), lambda c: (c[0] + 1, body(*c[1])), (0, tuple(xs)))",
  "end[1][: a['carried']]",
);

const letters = 'letters = ("NCHW", "OIHW", "NCHW") if x0.ndim == 4 else ("NCH", "OIH", "NCH")';
const correlation = lines(
  letters,
  `
jax.lax.conv_general_dilated(
    x0, x1.astype(x0.dtype), a["strides"], [(p, p) for p in a["padding"]], rhs_dilation=a["dilations"],
    dimension_numbers=letters, feature_group_count=a["groups"])
`
    .trim()
    .replaceAll("\n", ""),
);
/** By its meaning: the transpose that JAX makes of its own convolution. */
const transposedCorrelation = lines(
  letters,
  `
def forward(y):
    return jax.lax.conv_general_dilated(
        y, x1.astype(x0.dtype), a["strides"], [(p, p) for p in a["padding"]], rhs_dilation=a["dilations"],
        dimension_numbers=letters, feature_group_count=a["groups"])
`.trim(),
  // Windows that only the output padding has room for are none of the image's.
  `
def places(y):
    return forward(y)[tuple(slice(0, n) for n in x0.shape)]
`.trim(),
  "jax.linear_transpose(places, jax.ShapeDtypeStruct(s, x0.dtype))(x0)[0]",
);
const pooling = lines(
  'start, join = {"max": (-jnp.inf, jax.lax.max), "min": (jnp.inf, jax.lax.min), "sum": (0.0, jax.lax.add), "mean": (0.0, jax.lax.add), "prod": (1.0, jax.lax.mul)}[a["kind"]]',
  'y = jax.lax.reduce_window(x0, start, join, [1, 1, *a["kernel"]], [1, 1, *a["strides"]], [(0, 0), (0, 0), *((p, p) for p in a["padding"])])',
  'y / np.prod(a["kernel"]) if a["kind"] == "mean" else y',
);

const ORACLES: { readonly [N in OpName]: Oracle } = {
  abs: unary("abs"),
  add: "x0 + x1",
  add_rms_norm: lines(`rms = ${rms}`, "(x0 + x1, rms(x0 + x1, a['eps']) * x2)"),
  argmax: `np.argmax(x0, ${axis}).astype(np.int32)`,
  argmin: `np.argmin(x0, ${axis}).astype(np.int32)`,
  attention: {
    jax: jaxAttention(
      `
n, m = x0.shape[2], x1.shape[2]
i, j = jnp.arange(n)[:, None] + m - n, jnp.arange(m)[None]
keep = {"none": j == j, "bias": j == j, "causal": j <= i, "sliding": (j <= i) & (j >= i - a.get("window", 0)), "custom": x3[:, None, None, :] if a["mask"] == "custom" else None}[a["mask"]]
attend(x0, x1, x2, keep, x3 if a["mask"] == "bias" else 0.0)
`.trim(),
    ),
  },
  attention_cached: {
    jax: jaxAttention(
      `
i, j = jnp.arange(x0.shape[0])[:, None] + x3, jnp.arange(x1.shape[1])[None]
keep = (j <= i) & (j >= i - a.get("window", 1 << 30))
attend(jnp.swapaxes(x0, 0, 1)[None], x1[None], x2[None], keep, 0.0)[0].swapaxes(0, 1)
`.trim(),
    ),
  },
  batch_norm_inference: lines(
    "at = [-1 if i == a['axis'] % x0.ndim else 1 for i in range(x0.ndim)]",
    "g, b, m, v = (x.reshape(at) for x in xs[1:])",
    "(x0 - m) / np.sqrt(v + a['eps']) * g + b",
  ),
  cast: lines(
    `
def cast(x, to):
    whole = {"u8": np.uint8, "i8": np.int8, "i16": np.int16, "u32": np.uint32, "i32": np.int32}.get(to)
    if whole and x.dtype.kind == "f":
        return np.clip(np.trunc(x), np.iinfo(whole).min, np.iinfo(whole).max).astype(whole)
    if to == "bf16":
        step = 2 ** (np.floor(np.log2(np.abs(x))) - 7)
        return np.rint(x / step) * step
    return x.astype(whole or {"f32": np.float64, "f16": np.float16, "bool": np.bool_}[to])
`.trim(),
    'cast(x0, a["to"])',
  ),
  compare:
    '{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[a["op"]](x0, x1)',
  concat: `np.concatenate(list(xs), ${axis})`,
  conv: { jax: correlation },
  conv_transpose: { jax: lines(transposedCorrelation) },
  cos: unary("cos"),
  cumsum: lines(
    `
def run(x):
    y = np.cumsum(x, ${axis}, dtype=x.dtype)
    return y - x if a["exclusive"] else y
`.trim(),
    `np.flip(run(np.flip(x0, ${axis})), ${axis}) if a["reverse"] else run(x0)`,
  ),
  custom: "np.where(np.abs(x0) > 0.1, x0 - np.copysign(0.1, x0), 0)",
  dequantize: "x0",
  // Whole numbers divide towards zero.
  div: "x0 / x1 if x0.dtype.kind == 'f' else (x0 - np.fmod(x0, x1)) // x1",
  dot_general: {
    jax: 'jax.lax.dot_general(x0, x1, (([i % x0.ndim for i in a["lhsContracting"]], [i % x1.ndim for i in a["rhsContracting"]]), (a["lhsBatch"], a["rhsBatch"])))',
  },
  erf: "scipy.special.erf(x0)",
  exp: unary("exp"),
  expand: "np.broadcast_to(x0, s)",
  fft: lines(
    `
def run(x):
    z = x[..., : x.shape[-1] // 2] + 1j * x[..., x.shape[-1] // 2 :]
    return (np.fft.ifft if a["inverse"] else np.fft.fft)(z, norm=a["norm"])
`.trim(),
    "np.concatenate([run(x0).real, run(x0).imag], -1)",
  ),
  floor: unary("floor"),
  gated_linear: `(x0 @ x1.T) * ${sigmoid}(x0 @ x1.T) * (x0 @ x2.T)`,
  gather: `np.take(x0, x1, ${axis})`,
  gelu: { jax: 'jax.nn.gelu(x0, approximate=a["approx"])' },
  if: { jax: jaxIf },
  group_norm: {
    jax: lines(
      "y = jax.nn.standardize(x0.reshape(x0.shape[0], a['groups'], -1), axis=-1, epsilon=a['eps']).reshape(x0.shape)",
      "at = (1, -1) + (1,) * (x0.ndim - 2)",
      "y * x1.reshape(at) + x2.reshape(at)",
    ),
  },
  iota: lines(
    `line = np.arange(s[${axis}], dtype=np.int32)`,
    `np.broadcast_to(line.reshape([-1 if i == ${axis} % len(s) else 1 for i in range(len(s))]), s)`,
  ),
  kv_append: lines(append, "append(x0, x1, int(x2))"),
  layer_norm: {
    jax: "jax.nn.standardize(x0, axis=-1, epsilon=a['eps']) * x1 + (xs[2] if len(xs) > 2 else 0.0)",
  },
  layer_norm2d: {
    jax: "jax.nn.standardize(x0, axis=1, epsilon=a['eps']) * x1[:, None, None] + x2[:, None, None]",
  },
  linear: "np.einsum('...i,oi->...o', x0, x1) + (xs[2] if len(xs) > 2 else 0)",
  linear_add: "x0 @ x1.T + x2 + (xs[3] if len(xs) > 3 else 0)",
  log: unary("log"),
  lstm: lines(
    lstm,
    `zero = np.zeros((a["layers"] * (2 if a["bidirectional"] else 1), x0.shape[0], a["hidden"]))`,
    'run(x0, x1, x2, x3, *(xs[4:] if len(xs) > 4 else (zero, zero)), a["hidden"], a["layers"], a["bidirectional"])',
  ),
  matmul: "x0 @ x1",
  maximum: "np.maximum(x0, x1)",
  minimum: "np.minimum(x0, x1)",
  mul: "x0 * x1",
  narrow: `np.take(x0, np.arange(a["start"], a["start"] + a["length"]), ${axis})`,
  neg: "-x0",
  pool: { jax: pooling },
  pow: "x0 ** x1 if x0.dtype.kind == 'f' else np.where(x1 < 0, np.trunc(x0.astype(float) ** x1).astype(x0.dtype), x0 ** np.maximum(x1, 0))",
  qkv_linear: "tuple(x0 @ w.T + (xs[4 + i] if len(xs) > 4 else 0) for i, w in enumerate(xs[1:4]))",
  reduce:
    'x0 if not a["axes"] else getattr(np, a["kind"])(x0, axis=tuple(a["axes"]), keepdims=a.get("keepDims", False)).astype(x0.dtype)',
  relu: "np.maximum(x0, 0)",
  reshape: "x0.reshape(s)",
  resize_nearest2x: { jax: 'jax.image.resize(x0, s, "nearest")' },
  reverse: 'np.flip(x0, tuple(a["axes"]))',
  rms_norm: lines(`rms = ${rms}`, "rms(x0, a['eps']) * x1 + (xs[2] if len(xs) > 2 else 0)"),
  rope: lines(turn, 'turn(x0, x1, x2, a["dims"], a["style"])'),
  rope_append: lines(
    turn,
    append,
    `rms = ${rms}`,
    "norm = lambda x, i: rms(x, a['eps']) * xs[i] if len(xs) > 8 else x",
    'go = lambda x: turn(x, x3, x4, a["dims"], a["style"])',
    "(go(norm(x0, 8)), append(x5, go(norm(x1, 9)), int(x7)), append(x6, x2, int(x7)))",
  ),
  // YaRN itself is checked against llama.cpp through whole models (main/models/llama.oracle.test.ts).
  rope_table: lines(
    `
def ramp(low, high, n):
    return np.clip((np.arange(n) - low) / max(high - low, 0.001), 0, 1)
`.trim(),
    'inv = a["base"] ** (-np.arange(0, a["dims"], 2) / a["dims"])',
    'at = lambda r: a["dims"] * np.log(a["originalContext"] / (2 * np.pi * r)) / (2 * np.log(a["base"]))',
    'mix = ramp(max(np.floor(at(a["betaFast"])), 0), min(np.ceil(at(a["betaSlow"])), a["dims"] - 1), a["dims"] // 2) if a["scaling"] == "yarn" else 1.0',
    'inv = inv if a["scaling"] == "none" else inv / a["factor"] * mix + inv * (1 - mix)',
    "z = a['attentionFactor'] * np.exp(1j * np.outer(x0, inv / (xs[1] if len(xs) > 1 else 1.0)))",
    "(z.real, z.imag)",
  ),
  round: unary("rint"),
  rsqrt: "1 / np.sqrt(x0)",
  scatter_add: lines("out = np.zeros(s, x0.dtype)", 'np.add.at(out, (slice(None),) * a["axis"] + (x1,), x0)', "out"),
  sigmoid: `${sigmoid}(x0)`,
  sign: unary("sign"),
  silu: `x0 * ${sigmoid}(x0)`,
  sin: unary("sin"),
  softmax: `scipy.special.softmax(x0, ${axis})`,
  split: `tuple(np.split(x0, np.cumsum(a["sizes"])[:-1], ${axis}))`,
  sqrt: unary("sqrt"),
  stop_gradient: "x0",
  sub: "x0 - x1",
  swiglu: `x0 * ${sigmoid}(x0) * x1`,
  tanh: unary("tanh"),
  topk: { jax: 'tuple(jax.lax.top_k(x0, a["k"]))' },
  transpose: 'np.transpose(x0, a["perm"])',
  where: "np.where(x0, x1, x2)",
  while: { jax: jaxWhile },
};

/** Full precision, but for half tensors: what is written into one is rounded. */
const sent = (x: HostTensor): OracleTensor =>
  tensor(isFloat(x.dtype) && x.dtype !== "f16" ? "f64" : x.dtype, x.shape, x.data);

const missing = oracleMissing();
describe.skipIf(missing)(`references against NumPy, SciPy and JAX ${missing ?? ""}`, () => {
  const cases = Object.keys(OPS).flatMap((name) => {
    const op = opOf(name)!;
    return op.samples.map((sample) => [`${name}: ${sample.title}`, name as OpName, sample] as const);
  });
  it.each(cases)("%s", async (_, name, sample) => {
    const graph = sampleGraph(opOf(name)!, sample);
    const tensors = sampleTensors(sample);
    const results = Object.values(evaluate(graph, sampleRun(sample, tensors)).outputs);
    const bound = JSON.parse(JSON.stringify(sample.attrs), (_key, value: unknown) =>
      typeof value === "string" && sample.bindings?.[value] !== undefined ? sample.bindings[value] : value,
    ) as OracleInputs;
    const xs = tensors.map(sent);
    const inputs: OracleInputs = {
      ...Object.fromEntries(xs.map((x, i) => [inputName(i), x])),
      xs,
      a: { ...(bound as Record<string, OracleInputs[string]>), title: sample.title },
      s: [...results[0]!.shape],
    };
    const oracle = ORACLES[name];
    const expected = typeof oracle === "string" ? await numpyEval(oracle, inputs) : await jaxEval(oracle.jax, inputs);
    expect(results.map((result) => result.shape)).toEqual(expected.map((value) => value.shape));
    results.forEach((result, i) => {
      const integer = !isFloat(result.dtype);
      result.data.forEach((value, k) => {
        const wanted = expected[i]!.data[k]!;
        const limit = integer ? 0 : 1e-10 * (1 + Math.abs(wanted));
        if (!Object.is(value, wanted) && !(Math.abs(value - wanted) <= limit))
          expect.fail(
            `output ${i} element ${k}: got ${value}, ${typeof oracle === "string" ? "NumPy" : "JAX"} says ${wanted}`,
          );
      });
    });
  });
});
