import type { CpuEmitter, CpuValue } from "../../backends/cpu/emitter.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { AttentionCachedAttrs } from "../attention/attention_cached.ts";
import { attention_cached, cpuAttentionParams } from "../attention/attention_cached.ts";
import { APPEND, inferAppend, kv_append } from "../attention/kv_append.ts";
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

export interface AttentionBlockAttrs extends Omit<AttentionCachedAttrs, "chunk">, RopeAttrs {
  /** Of the norms of q and k; absent without them. */
  readonly eps?: number;
}

/** What the block is made of, over values, types or tensors. */
interface Parts<T> {
  readonly norm: (x: T, gamma: T, eps: number) => T;
  readonly turn: (x: T, cos: T, sin: T) => T;
  readonly append: (cache: T, rows: T, past: T) => T;
  readonly attend: (q: T, keys: T, values: T, past: T) => T;
}

function compute<T>(
  [q, k, v, cos, sin, kCache, vCache, past, qGamma, kGamma]: InputsOf<Range<8, 10>, T>,
  { eps }: AttentionBlockAttrs,
  { norm, turn, append, attend }: Parts<T>,
): readonly T[] {
  const turned = (x: T, gamma: T | undefined): T =>
    turn(gamma === undefined || eps === undefined ? x : norm(x, gamma, eps), cos, sin);
  const keys = append(kCache, turned(k, kGamma), past);
  const values = append(vCache, v, past);
  return [attend(turned(q, qGamma), keys, values, past), keys, values];
}

const typed = (attrs: AttentionBlockAttrs): Parts<TensorType> => ({
  norm: (x, gamma) => inferNorm("attention_block", [x, gamma]),
  turn: (x, cos, sin) => tensor(inferRope("attention_block", [x, cos, sin], attrs.dims).dtype, x.shape),
  append: (cache, rows, past) => inferAppend("attention_block", [cache, rows, past]),
  attend: (q, keys, values, past) => attention_cached.infer([q, keys, values, past], attrs, []),
});

const calculated = (attrs: AttentionBlockAttrs): Parts<HostTensor> => ({
  norm: (x, gamma, eps) => rms_norm.reference([x, gamma], { eps }, []),
  turn: (x, cos, sin) => rope.reference([x, cos, sin], attrs, []),
  append: (cache, rows, past) => kv_append.reference([cache, rows, past], {}, []),
  attend: (q, keys, values, past) => attention_cached.reference([q, keys, values, past], attrs, []),
});

const built = (g: OpBuilder, { dims, style, scale, softcap, window }: AttentionBlockAttrs): Parts<Value> => ({
  norm: (x, gamma, eps) => g.rms_norm([x, gamma], { eps }),
  turn: (x, cos, sin) => g.rope([x, cos, sin], { dims, style }),
  append: (cache, rows, past) => g.kv_append([cache, rows, past]),
  attend: (q, keys, values, past) =>
    g.attention_cached([q, keys, values, past], {
      scale,
      ...(softcap === undefined ? {} : { softcap }),
      ...(window === undefined ? {} : { window }),
    }),
});

const decompose = (g: OpBuilder, inputs: InputsOf<Range<8, 10>, Value>, attrs: AttentionBlockAttrs): readonly Value[] =>
  compute(inputs, attrs, built(g, attrs));

function emit(
  e: CpuEmitter,
  [q, k, v, cos, sin, kCache, vCache, past, qGamma, kGamma]: InputsOf<Range<8, 10>, CpuValue>,
  attrs: AttentionBlockAttrs,
  { outputs }: NodeInfo<AttentionBlockAttrs>,
): readonly CpuValue[] {
  return e.instr("attention_block", [q, k, v, qGamma, kGamma, cos, sin, kCache, vCache, past], outputs, {
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

export const attention_block: Op<"attention_block", AttentionBlockAttrs, Range<8, 10>, "many"> = defineOp({
  name: "attention_block",
  summary:
    "Norms of q and k (if given), rope on both, k and v written into their caches, and attention over those; gives the result and the caches.",
  arity: { least: 8, most: 10 },
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
  ],
  outputs: "many",
  results: ["result", "key cache", "value cache"],
  attributes: {
    scale: attr.float(),
    softcap: attr.optional(attr.float()),
    window: attr.optional(attr.int(0)),
    dims: attr.int(2),
    style: attr.oneOf(["neox", "pairs"]),
    eps: attr.optional(attr.float()),
  },
  infer: (inputs, attrs) => {
    const expected = attrs.eps === undefined ? 8 : 10;
    if (inputs.length !== expected)
      throw new WorkbenchError(
        "IR_STRUCTURE",
        `[attention_block] operands: got ${inputs.length}, expected ${expected}: both norms with eps, none without`,
      );
    return compute(inputs, attrs, typed(attrs));
  },
  reference: (inputs, attrs) => compute(inputs, attrs, calculated(attrs)),
  oracle: {
    numpy: lines(
      TURN,
      APPEND,
      "rms = lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)",
      "norm = lambda x, i: rms(x, a['eps']) * xs[i] if 'eps' in a else x",
      'go = lambda x: turn(x, x3, x4, a["dims"], a["style"])',
      "K, V = append(x5, go(norm(x1, 9)), int(x7)), append(x6, x2, int(x7))",
      `
def attend(q, k, v, past):
    k, v = k.astype(float), v.astype(float)
    y = np.zeros((q.shape[0], q.shape[1], v.shape[2]))
    for t, h in np.ndindex(q.shape[:2]):
        first = max(0, past + t - a["window"]) if "window" in a else 0
        g = h * k.shape[0] // q.shape[1]
        w = a["scale"] * k[g, first : past + t + 1] @ q[t, h]
        w = a["softcap"] * np.tanh(w / a["softcap"]) if "softcap" in a else w
        y[t, h] = scipy.special.softmax(w) @ v[g, first : past + t + 1]
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
