import { attr } from "../../ir/attributes.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { tensor } from "../../ir/type.ts";
import type { InputsOf, Op } from "../defineOp.ts";
import { decomposed, defineOp, everywhere, nondifferentiable } from "../defineOp.ts";
import type { SchemeAttrs } from "../families/blocks.ts";
import {
  blocksOf,
  codeOf,
  codeParts,
  codeType,
  inBlocks,
  mostOf,
  perBlock,
  scaleShape,
  schemeSchema,
} from "../families/blocks.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { normal, sample, values, weight } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface QuantizeBlocksAttrs extends SchemeAttrs {
  /** Numbers with one scale, along the last axis. */
  readonly block: number;
}

function parts(g: OpBuilder, [x]: InputsOf<1, Value>, { scheme, block }: QuantizeBlocksAttrs): readonly Value[] {
  const blocks = blocksOf("quantize_blocks", g.typeOf(x), block);
  const apart = inBlocks(g, g.cast([x], { to: "f32" }), blocks);
  const axis = g.typeOf(apart).shape.length - 1;
  const largest = g.reduce([g.abs([apart])], { kind: "max", axes: [axis] });
  const step = g.div([largest, scalarLike(g, largest, mostOf(scheme))]);
  const isNothing = g.compare([step, scalarLike(g, step, 0)], { op: "eq" });
  const scales = g.where([isNothing, scalarLike(g, step, 1), step]);
  const codes = codeParts(g, g.div([apart, perBlock(g, scales)]), scheme);
  return [g.reshape([codes], { shape: g.typeOf(x).shape }), scales];
}

/** The largest of a block, NaN where one is among them. */
const largestOf = (block: Float64Array): number =>
  block.reduce((most, value) => (Number.isNaN(value) ? NaN : Math.max(most, Math.abs(value))), 0);

export const quantize_blocks: Op<"quantize_blocks", QuantizeBlocksAttrs, 1, "many"> = defineOp({
  name: "quantize_blocks",
  summary:
    "Codes in blocks along the last axis, and a scale for each block: its largest magnitude over the largest code of int8, int4, e4m3, e5m2 or e2m1; 1 where all are 0.",
  arity: 1,
  operands: ["x"],
  outputs: "many",
  results: ["codes", "scales"],
  attributes: { ...schemeSchema, block: attr.int(1) },
  infer: ([x], { scheme, block }) => {
    dtypeAmong("floats", x.dtype, "quantize_blocks");
    const blocks = blocksOf("quantize_blocks", x, block);
    return [tensor(codeType(scheme), x.shape), tensor("f32", scaleShape(x, blocks))];
  },
  reference: ([x], { scheme, block }) => {
    const shape = [...x.shape.slice(0, -1), at(x.shape, x.shape.length - 1) / block];
    const scales = new Float64Array(sizeOf(shape)).map((_, i) => {
      const step = largestOf(x.data.slice(i * block, (i + 1) * block)) / mostOf(scheme);
      return step === 0 ? 1 : step;
    });
    const codes = x.data.map((value, i) => codeOf(value / at(scales, Math.floor(i / block)), scheme));
    return [hostTensor(codeType(scheme), x.shape, codes), hostTensor("f32", shape, scales)];
  },
  oracle: {
    jax: lines(
      "most, kind = {'int8': (127, None), 'int4': (7, None), 'e4m3': (448, 'float8_e4m3fn'), 'e5m2': (57344, 'float8_e5m2'), 'e2m1': (6, 'float4_e2m1fn')}[a['scheme']]",
      "apart = np.asarray(x0, 'f8').reshape(*x0.shape[:-1], x0.shape[-1] // a['block'], a['block'])",
      "scales = np.abs(apart).max(-1, initial=0) / most",
      "scales = np.where(scales == 0, 1, scales)",
      "real = np.clip(apart / scales[..., None], -most, most)",
      "codes = np.nan_to_num(np.rint(real)).astype('i1') if kind is None else real.astype(np.dtype(getattr(jnp, kind))).view(np.uint8)",
      "(codes.reshape(x0.shape), scales)",
    ),
  },
  gradient: nondifferentiable(
    "the results are codes: training takes fake_quantize, whose gradient goes straight through",
  ),
  batching: decomposed(parts),
  traits: ["pure"],
  backends: everywhere(parts),
  samples: [
    sample("odd sizes", [normal(1, [3, 10])], { scheme: "int8", block: 5 }),
    sample("four bits, symbolic rows", [normal(2, ["T", 6])], { scheme: "int4", block: 2 }, { bindings: { T: 3 } }),
    sample("small floats", [normal(3, [2, 3, 8])], { scheme: "e4m3", block: 4 }),
    sample("wide small floats of halves", [weight(4, [3, 8], "f16")], { scheme: "e5m2", block: 8 }),
    sample("floats of four bits", [normal(5, [32])], { scheme: "e2m1", block: 16 }),
    sample("zeros, and a block with NaN", [values([0, 0, 0, 0, 1, NaN, -2, 3], [2, 4])], { scheme: "int8", block: 4 }),
    sample("nothing", [values([], [0, 4])], { scheme: "int8", block: 2 }),
  ],
});
