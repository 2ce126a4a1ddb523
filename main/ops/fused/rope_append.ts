import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Range, SampleInput } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { RopeAttrs } from "../attention/rope.ts";
import { inferRope, rope } from "../attention/rope.ts";
import { appendRows, inferAppend } from "../attention/kv_append.ts";
import { cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { inferNorm } from "../families/norm.ts";
import { normal, scalarInput, withDoubles } from "../families/samples.ts";
import { rms_norm } from "../norm/rms_norm.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";
import { APPEND } from "../attention/kv_append.ts";
import { TURN } from "../attention/rope.ts";

export interface RopeAppendAttrs extends RopeAttrs {
  /** Of the norms of q and k. */
  readonly eps: number;
}

function decompose(
  g: OpBuilder,
  [q, k, v, cos, sin, kCache, vCache, past, qNorm, kNorm]: InputsOf<Range<8, 10>, Value>,
  { dims, style, eps }: RopeAppendAttrs,
): readonly Value[] {
  const turned = (x: Value, gamma: Value | undefined): Value =>
    g.rope([gamma === undefined ? x : g.rms_norm([x, gamma], { eps }), cos, sin], { dims, style });
  return [turned(q, qNorm), g.kv_append([kCache, turned(k, kNorm), past]), g.kv_append([vCache, v, past])];
}

const half = (input: SampleInput): SampleInput => ({ ...input, type: tensor("f16", input.type.shape) });

export const rope_append: Op<"rope_append", RopeAppendAttrs, Range<8, 10>, "many"> = defineOp({
  name: "rope_append",
  summary:
    "Between the q, k, v products and attention: norms of q and k (if given), rope on both, k and v written into their caches; gives q and the caches.",
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
  results: ["query", "key cache", "value cache"],
  attributes: { dims: attr.int(2), style: attr.oneOf(["neox", "pairs"]), eps: attr.float() },
  infer: ([q, k, v, cos, sin, kCache, vCache, past, qNorm, kNorm], { dims }) => {
    if ((qNorm === undefined) !== (kNorm === undefined))
      throw new WorkbenchError("IR_STRUCTURE", "[rope_append] norms: got one, expected both or none");
    inferNorm("rope_append", [q, qNorm]);
    inferNorm("rope_append", [k, kNorm]);
    inferRope("rope_append", [k, cos, sin], dims);
    return [
      tensor(inferRope("rope_append", [q, cos, sin], dims).dtype, q.shape),
      inferAppend("rope_append", [kCache, k, past]),
      inferAppend("rope_append", [vCache, v, past]),
    ];
  },
  reference: ([q, k, v, cos, sin, kCache, vCache, past, qNorm, kNorm], { dims, style, eps }) => {
    const turned = (x: HostTensor, gamma: HostTensor | undefined): HostTensor => {
      const normed = gamma === undefined ? x : rms_norm.reference([x, gamma], { eps }, []);
      return rope.reference([normed, cos, sin], { dims, style }, []);
    };
    const position = at(past.data, 0);
    return [turned(q, qNorm), appendRows(kCache, turned(k, kNorm), position), appendRows(vCache, v, position)];
  },
  oracle: {
    numpy: lines(
      TURN,
      APPEND,
      "rms = lambda x, e: x / np.sqrt(np.mean(np.square(x), -1, keepdims=True) + e)",
      "norm = lambda x, i: rms(x, a['eps']) * xs[i] if len(xs) > 8 else x",
      'go = lambda x: turn(x, x3, x4, a["dims"], a["style"])',
      "(go(norm(x0, 8)), append(x5, go(norm(x1, 9)), int(x7)), append(x6, x2, int(x7)))",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "fused", "sensitive"],
  backends: {
    cpu: cpuKernel("rope_append", {
      takes: [["f32"], ["f32"], ["f32"], ["f32"], ["f32"], ["f32", "f16"], ["f32", "f16"], ["i32"], ["f32"]],
      params: ({ dims, style, eps }) => ({ interleaved: style === "pairs", rotary: dims, eps }),
    }),
    coreml: decomposed(decompose),
    mlx: decomposed(decompose),
  },
  samples: withDoubles([
    {
      title: "one token, halves",
      inputs: [
        normal(1, [1, 4, 6]),
        normal(2, [1, 2, 6]),
        normal(3, [1, 2, 6]),
        normal(4, [1, 3]),
        normal(5, [1, 3]),
        normal(6, [2, 5, 6]),
        normal(7, [2, 5, 6]),
        scalarInput(3),
      ],
      attrs: { dims: 6, style: "neox", eps: 1e-6 },
    },
    {
      title: "norms, symbolic",
      inputs: [
        normal(8, ["T", 2, 4]),
        normal(9, ["T", 1, 4]),
        normal(10, ["T", 1, 4]),
        normal(11, ["T", 2]),
        normal(12, ["T", 2]),
        normal(13, [1, 7, 4]),
        normal(14, [1, 7, 4]),
        scalarInput(2),
        normal(15, [4]),
        normal(16, [4]),
      ],
      attrs: { dims: 4, style: "neox", eps: 1e-6 },
      bindings: { T: 3 },
    },
    {
      title: "pairs, part of the head, values of another size",
      inputs: [
        normal(17, [2, 3, 5]),
        normal(18, [2, 3, 5]),
        normal(19, [2, 3, 3]),
        normal(20, [2, 2]),
        normal(21, [2, 2]),
        normal(22, [3, 4, 5]),
        normal(23, [3, 4, 3]),
        scalarInput(0),
      ],
      attrs: { dims: 4, style: "pairs", eps: 1e-5 },
    },
    {
      title: "half caches, norms, symbolic",
      inputs: [
        normal(24, ["T", 4, 8]),
        normal(25, ["T", 2, 8]),
        normal(26, ["T", 2, 8]),
        normal(27, ["T", 4]),
        normal(28, ["T", 4]),
        half(normal(29, [2, 6, 8])),
        half(normal(30, [2, 6, 8])),
        scalarInput(1),
        normal(31, [8]),
        normal(32, [8]),
      ],
      attrs: { dims: 8, style: "neox", eps: 1e-6 },
      bindings: { T: 3 },
      differentiable: false,
    },
    {
      title: "half caches, pairs, keys and values of odd sizes",
      inputs: [
        normal(33, [1, 3, 5]),
        normal(34, [1, 3, 5]),
        normal(35, [1, 3, 3]),
        normal(36, [1, 2]),
        normal(37, [1, 2]),
        half(normal(38, [3, 4, 5])),
        half(normal(39, [3, 4, 3])),
        scalarInput(3),
      ],
      attrs: { dims: 4, style: "pairs", eps: 1e-5 },
      differentiable: false,
    },
  ]),
});
