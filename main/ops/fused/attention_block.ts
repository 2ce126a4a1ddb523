import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { AttentionCachedAttrs } from "../attention/attention_cached.ts";
import { ATTENTION_CACHED_ATTRS, attention_cached, cpuAttentionParams } from "../attention/attention_cached.ts";
import type { AppendAttrs } from "../attention/kv_append.ts";
import { appendNumpy, inferAppend, kv_append } from "../attention/kv_append.ts";
import type { RopeAttrs } from "../attention/rope.ts";
import { inferRope, rope, TURN } from "../attention/rope.ts";
import type { InputsOf, NodeInfo, Op, Range, SampleInput } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import { takesTypes } from "../../backends/cpu/rules.ts";
import { ownOfCpu } from "../families/fused.ts";
import { inferNorm } from "../families/norm.ts";
import { normal, normals, sample, scalarInput, withDoubles } from "../families/samples.ts";
import { rms_norm } from "../norm/rms_norm.ts";
import { lines } from "../families/oracle.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface AttentionBlockAttrs extends AttentionCachedAttrs, RopeAttrs {
  /** Of the norms of q and k; absent without them. */
  readonly eps?: number;
}

/** What the block is made of, over values, types or tensors. */
interface Parts<T> {
  readonly norm: (x: T, gamma: T, eps: number) => T;
  readonly turn: (x: T, cos: T, sin: T) => T;
  readonly append: (cache: T, rows: T, past: T) => T;
  readonly attend: (operands: InputsOf<Range<4, 5>, T>) => T;
}

type Operands<T> = InputsOf<Range<8, 11>, T>;

/** What may stand behind the first eight operands: the norms' weights where there is an eps, then the sinks. */
function optional<T>([, , , , , , , , ...rest]: Operands<T>, { eps }: AttentionBlockAttrs) {
  const [qGamma, kGamma] = eps === undefined ? [] : rest;
  return { qGamma, kGamma, sinks: rest[eps === undefined ? 0 : 2] };
}

function compute<T>(
  operands: Operands<T>,
  attrs: AttentionBlockAttrs,
  { norm, turn, append, attend }: Parts<T>,
): readonly T[] {
  const [q, k, v, cos, sin, kCache, vCache, past] = operands;
  const { qGamma, kGamma, sinks } = optional(operands, attrs);
  const { eps } = attrs;
  const turned = (x: T, gamma: T | undefined): T =>
    turn(gamma === undefined || eps === undefined ? x : norm(x, gamma, eps), cos, sin);
  const keys = append(kCache, turned(k, kGamma), past);
  const values = append(vCache, v, past);
  const query = turned(q, qGamma);
  const seen =
    sinks === undefined ? ([query, keys, values, past] as const) : ([query, keys, values, past, sinks] as const);
  return [attend(seen), keys, values];
}

const typed = (attrs: AttentionBlockAttrs): Parts<TensorType> => ({
  norm: (x, gamma) => inferNorm("attention_block", [x, gamma]),
  turn: (x, cos, sin) => tensor(inferRope("attention_block", [x, cos, sin], attrs.dims).dtype, x.shape),
  append: (cache, rows, past) => inferAppend("attention_block", [cache, rows, past]),
  attend: (operands) => attention_cached.infer(operands, attrs, []),
});

const calculated = (attrs: AttentionBlockAttrs): Parts<HostTensor> => ({
  norm: (x, gamma, eps) => rms_norm.reference([x, gamma], { eps }, []),
  turn: (x, cos, sin) => rope.reference([x, cos, sin], attrs, []),
  append: (cache, rows, past) => kv_append.reference([cache, rows, past], ringOf(attrs), []),
  attend: (operands) => attention_cached.reference(operands, attrs, []),
});

const ringOf = ({ ring }: AttentionBlockAttrs): AppendAttrs => (ring === undefined ? {} : { ring });

const built = (g: OpBuilder, attrs: AttentionBlockAttrs): Parts<Value> => ({
  norm: (x, gamma, eps) => g.rms_norm([x, gamma], { eps }),
  turn: (x, cos, sin) => g.rope([x, cos, sin], { dims: attrs.dims, style: attrs.style }),
  append: (cache, rows, past) => g.kv_append([cache, rows, past], ringOf(attrs)),
  attend: (operands) => {
    const { dims: _dims, style: _style, eps: _eps, ...attends } = attrs;
    return g.attention_cached(operands, attends);
  },
});

const decompose = (g: OpBuilder, inputs: Operands<Value>, attrs: AttentionBlockAttrs): readonly Value[] =>
  compute(inputs, attrs, built(g, attrs));

function emit(
  e: CpuEmitter,
  operands: Operands<CpuValue>,
  attrs: AttentionBlockAttrs,
  { outputs }: NodeInfo<AttentionBlockAttrs>,
): readonly CpuValue[] {
  const [q, k, v, cos, sin, kCache, vCache, past] = operands;
  const { qGamma, kGamma, sinks } = optional(operands, attrs);
  return e.instr("attention_block", [q, k, v, qGamma, kGamma, cos, sin, kCache, vCache, past, sinks], outputs, {
    ...cpuAttentionParams(attrs),
    interleaved: attrs.style === "pairs",
    eps: attrs.eps ?? 0,
    normQ: qGamma !== undefined,
    normK: kGamma !== undefined,
  });
}

/** The kernel's heads have one size, and its caches are f32 or f16. */
function takes(node: NodeInfo<AttentionBlockAttrs>): true | string {
  const [f32, caches] = [["f32"], ["f32", "f16"]] as const;
  const [q, , v] = node.inputs;
  const types = takesTypes("attention_block", [f32, f32, f32, f32, f32, caches, caches, ["i32"], f32], node);
  if (types !== true || q?.shape.at(-1) === v?.shape.at(-1)) return types;
  return `the CPU kernel attention_block takes values of the size of keys; they have ${v ? formatType(v) : "none"}`;
}

const half = (input: SampleInput): SampleInput => ({ ...input, type: tensor("f16", input.type.shape) });

export const attention_block: Op<"attention_block", AttentionBlockAttrs, Range<8, 11>, "many"> = defineOp({
  name: "attention_block",
  summary:
    "Norms of q and k (with eps), rope on both, k and v written into their caches, and attention over those, with sinks if given; gives the result and the caches. Without norms the sinks are the ninth operand.",
  arity: { least: 8, most: 11 },
  operands: [
    "query",
    "key",
    "value",
    "cosines",
    "sines",
    "key cache",
    "value cache",
    "past",
    "query gamma",
    "key gamma",
    "sinks",
  ],
  outputs: "many",
  results: ["result", "key cache", "value cache"],
  attributes: {
    ...ATTENTION_CACHED_ATTRS,
    dims: attr.int(2),
    style: attr.oneOf(["neox", "pairs"]),
    eps: attr.optional(attr.float()),
  },
  infer: (inputs, attrs) => {
    const least = attrs.eps === undefined ? 8 : 10;
    if (inputs.length !== least && inputs.length !== least + 1)
      throw new WorkbenchError(
        "IR_STRUCTURE",
        `[attention_block] operands: got ${inputs.length}, expected ${least}, or ${least + 1} with sinks: both norms with eps, none without`,
      );
    return compute(inputs, attrs, typed(attrs));
  },
  reference: (inputs, attrs) => compute(inputs, attrs, calculated(attrs)),
  oracle: {
    numpy: lines(
      TURN,
      appendNumpy("new"),
      "rms = lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)",
      "norm = lambda x, i: rms(x, a['eps']) * xs[i] if 'eps' in a else x",
      'go = lambda x: turn(x, x3, x4, a["dims"], a["style"])',
      "sinks = xs[-1] if len(xs) % 2 else None",
      "K, V = append(x5, go(norm(x1, 9)), int(x7)), append(x6, x2, int(x7))",
      `
def attend(q, k, v, past):
    k, v = k.astype(float), v.astype(float)
    y = np.zeros((q.shape[0], q.shape[1], v.shape[2]))
    for t, h in np.ndindex(q.shape[:2]):
        first = max(0, past + t - a["window"]) if "window" in a else 0
        first = max(first, (past + t) // a["chunk"] * a["chunk"]) if "chunk" in a else first
        g = h * k.shape[0] // q.shape[1]
        at = np.arange(first, past + t + 1) % (k.shape[1] if a.get("ring") else past + t + 1)
        w = a["scale"] * k[g, at] @ q[t, h]
        w = a["softcap"] * np.tanh(w / a["softcap"]) if "softcap" in a else w
        w = w - a["slopes"][h] * np.arange(past + t - first, -1, -1) if "slopes" in a else w
        w = np.append(w, sinks[h]) if sinks is not None else w
        y[t, h] = scipy.special.softmax(w)[: past + t + 1 - first] @ v[g, at]
    return y
`.trim(),
      "(attend(go(norm(x0, 8)), K, V, int(x7)), K, V)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused", "sensitive"],
  backends: { cpu: { kind: "native", emit, when: takes }, ...ownOfCpu },
  samples: withDoubles([
    sample(
      "one token, halves",
      [...normals(1, [1, 4, 6], [1, 2, 6], [1, 2, 6], [1, 3], [1, 3], [2, 5, 6], [2, 5, 6]), scalarInput(3)],
      { scale: 0.4, dims: 6, style: "neox" },
    ),
    sample(
      "norms, window, symbolic",
      [
        ...normals(8, ["T", 2, 4], ["T", 1, 4], ["T", 1, 4], ["T", 2], ["T", 2], [1, 7, 4], [1, 7, 4]),
        scalarInput(2),
        normal(15, [4]),
        normal(16, [4]),
      ],
      { scale: 0.5, window: 2, dims: 4, style: "neox", eps: 1e-6 },
      { bindings: { T: 3 } },
    ),
    sample(
      "pairs, part of the head, values of another size",
      [...normals(17, [2, 3, 5], [2, 3, 5], [2, 3, 3], [2, 2], [2, 2], [3, 4, 5], [3, 4, 3]), scalarInput(0)],
      { scale: 0.5, dims: 4, style: "pairs" },
    ),
    sample(
      "slopes, one token",
      [...normals(71, [1, 4, 6], [1, 2, 6], [1, 2, 6], [1, 3], [1, 3], [2, 5, 6], [2, 5, 6]), scalarInput(3)],
      { scale: 0.4, slopes: [0.5, 0.25, 0.125, 0.0625], dims: 6, style: "neox" },
    ),
    sample(
      "sinks, window",
      [
        ...normals(41, [3, 4, 6], [3, 2, 6], [3, 2, 6], [3, 3], [3, 3], [2, 9, 6], [2, 9, 6]),
        scalarInput(4),
        normal(48, [4]),
      ],
      { scale: 0.4, window: 2, dims: 6, style: "neox" },
    ),
    sample(
      "sinks, norms, chunks, one token, symbolic",
      [
        ...normals(51, ["T", 4, 4], ["T", 2, 4], ["T", 2, 4], ["T", 2], ["T", 2], [2, 9, 4], [2, 9, 4]),
        scalarInput(6),
        normal(58, [4]),
        normal(59, [4]),
        normal(60, [4]),
      ],
      { scale: 0.5, chunk: 4, dims: 4, style: "pairs", eps: 1e-6 },
      { bindings: { T: 1 } },
    ),
    sample(
      "sinks, more tokens and keys than the CPU engine takes at once",
      [
        ...normals(61, [9, 4, 8], [9, 2, 8], [9, 2, 8], [9, 4], [9, 4], [2, 300, 8], [2, 300, 8]),
        scalarInput(280),
        normal(68, [4]),
      ],
      { scale: 0.4, dims: 8, style: "neox" },
      { differentiable: false },
    ),
    sample(
      "rings, one token, halves",
      [...normals(81, [1, 4, 6], [1, 2, 6], [1, 2, 6], [1, 3], [1, 3], [2, 7, 6], [2, 7, 6]), scalarInput(30)],
      { scale: 0.4, window: 5, ring: true, dims: 6, style: "neox" },
    ),
    sample(
      "rings, norms, sinks, around their end, symbolic",
      [
        ...normals(91, ["T", 4, 4], ["T", 2, 4], ["T", 2, 4], ["T", 2], ["T", 2], [2, 11, 4], [2, 11, 4]),
        scalarInput(20),
        normal(98, [4]),
        normal(99, [4]),
        normal(100, [4]),
      ],
      { scale: 0.5, window: 4, ring: true, dims: 4, style: "pairs", eps: 1e-6 },
      { bindings: { T: 6 } },
    ),
    sample(
      "rings, more tokens than the CPU engine takes at once",
      [
        ...normals(101, [70, 4, 8], [70, 2, 8], [70, 2, 8], [70, 4], [70, 4], [2, 190, 8], [2, 190, 8]),
        scalarInput(300),
      ],
      { scale: 0.4, window: 100, ring: true, dims: 8, style: "neox" },
      { differentiable: false },
    ),
    sample(
      "half caches, softcap, norms, symbolic",
      [
        ...normals(24, ["T", 4, 8], ["T", 2, 8], ["T", 2, 8], ["T", 4], ["T", 4]),
        half(normal(29, [2, 6, 8])),
        half(normal(30, [2, 6, 8])),
        scalarInput(1),
        normal(31, [8]),
        normal(32, [8]),
      ],
      { scale: 0.35, softcap: 2, dims: 8, style: "neox", eps: 1e-6 },
      { bindings: { T: 3 }, differentiable: false },
    ),
  ]),
});
