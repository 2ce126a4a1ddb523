import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp, everywhere } from "../defineOp.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import type { RopeTableAttrs } from "../families/ropeFrequencies.ts";
import { ropeStreams } from "../families/ropeFrequencies.ts";
import { integers, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { ROPE_ANGLES, ROPE_TABLE_ATTRS, rope_table } from "./rope_table.ts";

export interface MropeTableAttrs extends RopeTableAttrs {
  /** Pairs that follow the time, the height and the width of a token, and the fourth stream if there is one. */
  readonly sections: readonly number[];
  /** The streams take turns from pair to pair instead of having a run of pairs each. */
  readonly interleaved: boolean;
}

type Operands<T> = InputsOf<Range<1, 2>, T>;

const streamsOf = ({ dims, sections, interleaved }: MropeTableAttrs): readonly number[] =>
  ropeStreams(dims / 2, sections, interleaved);

/** A table for each stream that some pair follows. */
function tables<T>(attrs: MropeTableAttrs, make: (stream: number) => T): ReadonlyMap<number, T> {
  return new Map([...new Set(streamsOf(attrs))].map((stream) => [stream, make(stream)]));
}

function reference([positions, factors]: Operands<HostTensor>, attrs: MropeTableAttrs): readonly HostTensor[] {
  const [, tokens = 0] = positions.shape;
  const half = attrs.dims / 2;
  const streams = streamsOf(attrs);
  const own = tables(attrs, (stream) => {
    const line = hostTensor("i32", [tokens], positions.data.slice(stream * tokens, (stream + 1) * tokens));
    return rope_table.reference(factors === undefined ? [line] : [line, factors], attrs, []);
  });
  return [0, 1].map((which) => {
    const cells = Float64Array.from({ length: tokens * half }, (_, i) => {
      const table = own.get(streams[i % half] ?? 0)?.[which];
      invariant(table, "each pair follows a stream");
      return at(table.data, i);
    });
    return hostTensor("f32", [tokens, half], cells);
  });
}

/** The table of the first stream, with the pairs of the others put in. */
function decompose(
  g: OpBuilder,
  [positions, factors]: Operands<Value>,
  { sections, interleaved, ...attrs }: MropeTableAttrs,
): readonly Value[] {
  const [, tokens = 0] = g.typeOf(positions).shape;
  const streams = streamsOf({ ...attrs, sections, interleaved });
  const own = [
    ...tables({ ...attrs, sections, interleaved }, (start) => {
      const row = g.narrow([positions], { axis: 0, start, length: 1 });
      const line = g.reshape([row], { shape: [tokens] });
      return g.rope_table(factors === undefined ? [line] : [line, factors], attrs);
    }),
  ];
  return [0, 1].map((which) => {
    const [first, ...others] = own.map(([stream, made]) => ({ stream, table: made[which] }));
    invariant(first?.table, "rope_table has two results");
    return others.reduce((all, { stream, table }) => {
      invariant(table, "rope_table has two results");
      const follows = streams.map((each) => Number(each === stream));
      const pairs = g.constant(hostTensor("bool", [1, streams.length], Float64Array.from(follows)));
      const each = g.expand([pairs], { shape: [tokens, streams.length] });
      return g.where([each, table, all]);
    }, first.table);
  });
}

const plain: MropeTableAttrs = {
  dims: 16,
  base: 10000,
  scaling: "none",
  factor: 1,
  originalContext: 0,
  attentionFactor: 1,
  betaFast: 32,
  betaSlow: 1,
  sections: [2, 3, 3],
  interleaved: false,
};
/** A picture of 2 × 3 patches between two tokens of text. */
const PICTURE = values([4, 5, 5, 5, 5, 5, 5, 8, 4, 5, 5, 5, 6, 6, 6, 8, 4, 5, 6, 7, 5, 6, 7, 8], [3, 8], "i32");

export const mrope_table: Op<"mrope_table", MropeTableAttrs, Range<1, 2>, "many"> = defineOp({
  name: "mrope_table",
  summary:
    "rope_table for tokens with several positions, time, height and width: positions i32[streams, T]. Each pair of a head follows one of them: a run of pairs for each section, or interleaved in turns. Behind the sum of the sections it begins again.",
  arity: { least: 1, most: 2 },
  operands: ["positions", "factors"],
  outputs: "many",
  results: ["cosines", "sines"],
  attributes: { ...ROPE_TABLE_ATTRS, sections: attr.ints(), interleaved: attr.bool() },
  infer: ([positions, factors], attrs) => {
    const { sections } = attrs;
    const [streams, tokens = 0] = positions.shape;
    if (positions.dtype !== "i32" || positions.shape.length !== 2 || typeof streams !== "number" || streams < 3)
      throw new WorkbenchError(
        "IR_TYPE",
        `[mrope_table] positions: got ${formatType(positions)}, expected i32[3 or more streams, T]`,
      );
    if (
      sections.length < 3 ||
      sections.length > 4 ||
      sections.some((count) => count < 0) ||
      !sections.some((n) => n > 0)
    )
      throw new WorkbenchError(
        "IR_ATTRIBUTE",
        `[mrope_table] sections: got ${JSON.stringify(sections)}, expected three or four counts of pairs`,
      );
    const last = Math.max(...streamsOf(attrs));
    if (last >= streams)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[mrope_table] positions: got ${streams} streams, expected ${last + 1}: some pairs follow the fourth`,
      );
    const line = tensor("i32", [tokens]);
    return rope_table.infer(factors === undefined ? [line] : [line, factors], attrs, []);
  },
  reference,
  oracle: {
    numpy: lines(
      ROPE_ANGLES,
      `
def stream(s, sections, interleaved):
    t, h, w = sections[:3]
    if interleaved:
        return 1 if s % 3 == 1 and s < 3 * h else 2 if s % 3 == 2 and s < 3 * w else 0 if s % 3 == 0 and s < 3 * t else 3
    return 0 if s < t else 1 if s < t + h else 2 if s < t + h + w else 3
`.trim(),
      'of = [stream(i % sum(a["sections"]), a["sections"], a["interleaved"]) for i in range(a["dims"] // 2)]',
      "z = a['attentionFactor'] * np.exp(1j * x0[of].T * inv / (xs[1] if len(xs) > 1 else 1.0))",
      "(z.real, z.imag)",
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure"],
  backends: everywhere(decompose),
  samples: withDoubles([
    sample("sections, a picture in a text", [PICTURE], plain),
    sample("interleaved, a picture in a text", [PICTURE], { ...plain, sections: [3, 3, 2], interleaved: true }),
    sample(
      "fewer sections than pairs, a fourth stream, symbolic",
      [integers(1, [4, "T"], 0, 4000)],
      { ...plain, dims: 24, scaling: "linear", factor: 4, sections: [2, 1, 1, 3] },
      { bindings: { T: 3 } },
    ),
    sample("interleaved as in a large model, YaRN", [integers(2, [4, 2], 0, 50)], {
      ...plain,
      dims: 128,
      base: 5e6,
      scaling: "yarn",
      factor: 4,
      originalContext: 32768,
      sections: [24, 20, 20, 0],
      interleaved: true,
    }),
    sample("factors of the file", [PICTURE, uniform(3, [8], 1, 8)], { ...plain, base: 500000, attentionFactor: 1.2 }),
  ]),
});
