import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Bindings } from "../../ir/dim.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op, Sample, SampleInput } from "../defineOp.ts";
import { decomposed, defineOp, nondifferentiable, unsupported } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import { at } from "../families/host.ts";
import { lines } from "../families/oracle.ts";
import { PHILOX_ORACLE } from "../families/philox.ts";
import { checkSeed, seedInput, unitParts, unitsOf } from "../families/random.ts";
import { normal, sample as sampleOf, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { largestFirst } from "../reduce/topk.ts";

export interface SampleAttrs {
  /** 0 takes the most likely one. */
  readonly temperature: number;
  /** 0 for all. */
  readonly topK: number;
  /** 1 for all. */
  readonly topP: number;
  /** Of the most likely one's chance; 0 for all. */
  readonly minP: number;
}

function infer([logits, seed]: readonly [TensorType, TensorType], attrs: SampleAttrs): TensorType {
  if (!isFloat(logits.dtype) || logits.shape.length === 0 || logits.shape.at(-1) === 0)
    throw new WorkbenchError("IR_SHAPE", `[sample] logits: got ${formatType(logits)}, expected floats [.., V]`);
  checkSeed("sample", seed);
  const { temperature, topP, minP } = attrs;
  if (!(temperature >= 0 && topP >= 0 && topP <= 1 && minP >= 0 && minP <= 1))
    throw new WorkbenchError(
      "IR_ATTRIBUTE",
      `[sample] got temperature ${temperature}, topP ${topP}, minP ${minP}; expected a temperature from 0, and shares from 0 to 1`,
    );
  return tensor("i32", logits.shape.slice(0, -1));
}

const PLAIN: SampleAttrs = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const drawn = (
  title: string,
  inputs: readonly SampleInput[],
  attrs: Partial<SampleAttrs>,
  more: { readonly bindings?: Bindings } = {},
): Sample<SampleAttrs> => sampleOf<SampleAttrs>(title, inputs, { ...PLAIN, ...attrs }, more);

/** Weights in order, cut by rank, by what came before, by their share; then the first whose running sum passes the mark. */
function parts(
  g: OpBuilder,
  [given, seed]: readonly [Value, Value],
  { temperature, topK, topP, minP }: SampleAttrs,
): Value {
  const { dtype, shape } = g.typeOf(given);
  const rows = shape.slice(0, -1);
  const axis = rows.length;
  const size = shape.at(-1) ?? 1;
  if (temperature === 0 || topK === 1) return g.argmax([given], { axis });
  const logits = dtype === "f16" || dtype === "bf16" ? g.cast([given], { to: "f32" }) : given;
  const number = (value: number): Value => scalarLike(g, logits, value);
  const sum = (x: Value): Value => g.reduce([x], { kind: "sum", axes: [axis], keepDims: true });
  const kept = (condition: Value, x: Value): Value => g.where([condition, x, number(0)]);
  const running = (x: Value, exclusive: boolean): Value => g.cumsum([x], { axis, exclusive, reverse: false });

  const order = { axis, descending: true };
  const places = g.argsort([logits], order);
  const sorted = g.sort([logits], order);
  const most = g.narrow([sorted], { axis, start: 0, length: 1 });
  let weights = g.exp([g.div([g.sub([sorted, most]), number(temperature)])]);
  if (topK > 0) {
    const rank = g.iota([], { shape: [size], axis: 0 });
    weights = kept(g.compare([rank, scalarLike(g, rank, topK)], { op: "lt" }), weights);
  }
  if (topP < 1) {
    const before = running(weights, true);
    const isFirst = g.compare([g.iota([], { shape: [size], axis: 0 }), scalarLike(g, places, 0)], { op: "eq" });
    const isWithin = g.compare([before, g.mul([sum(weights), number(topP)])], { op: "lt" });
    weights = kept(g.logical_or([isFirst, isWithin]), weights);
  }
  if (minP > 0) weights = kept(g.compare([weights, number(minP)], { op: "ge" }), weights);
  const sums = running(weights, false);
  const unit = unitParts(g, g.rng_bits([seed], { shape: [...rows, 1] }));
  const share = dtype === "f64" ? g.cast([unit], { to: "f64" }) : unit;
  const total = g.reduce([sums], { kind: "max", axes: [axis], keepDims: true });
  // Where logits are no numbers nothing may be left: then the first in order is taken.
  const isAny = g.compare([total, number(0)], { op: "gt" });
  const isPassed = g.logical_and([isAny, g.compare([sums, g.mul([total, share])], { op: "le" })]);
  const passed = g.cast([isPassed], { to: "i32" });
  return g.reshape([g.gather_elements([places, sum(passed)], { axis })], { shape: rows });
}

/** The same of one row of numbers, without a graph. */
function draw(row: Float64Array, unit: number, { temperature, topK, topP, minP }: SampleAttrs): number {
  const order = Array.from(row.keys()).sort((a, b) => largestFirst(at(row, a), at(row, b)) || a - b);
  const most = at(row, order[0] ?? 0);
  if (temperature === 0 || topK === 1 || !Number.isFinite(most)) return order[0] ?? 0;
  let kept = order.slice(0, topK === 0 ? order.length : topK).map((id) => Math.exp((at(row, id) - most) / temperature));
  const wanted = topP * kept.reduce((sum, weight) => sum + weight, 0);
  if (topP < 1) {
    let before = 0;
    kept = kept.filter((weight, i) => {
      const isKept = i === 0 || before < wanted;
      before += weight;
      return isKept;
    });
  }
  kept = kept.filter((weight) => weight >= minP);
  const mark = unit * kept.reduce((sum, weight) => sum + weight, 0);
  let passed = 0;
  return order[kept.findIndex((weight) => (passed += weight) > mark)] ?? 0;
}

export const sample: Op<"sample", SampleAttrs, 2> = defineOp({
  name: "sample",
  summary:
    "Draws one position of the last axis for each row: softmax(logits / temperature), of which top-k, then top-p, then min-p keep the likeliest; temperature 0 or top-k 1 takes the largest. Row i draws by number i of the seed's.",
  arity: 2,
  operands: ["logits", "seed"],
  outputs: "one",
  attributes: { temperature: attr.float(), topK: attr.int(0), topP: attr.float(), minP: attr.float() },
  infer,
  reference: ([logits, seed], attrs) => {
    const size = at(logits.shape, logits.shape.length - 1);
    const shape = logits.shape.slice(0, -1);
    const units = unitsOf(seed.data, sizeOf(shape));
    const made = units.map((unit, row) => draw(logits.data.subarray(row * size, (row + 1) * size), unit, attrs));
    return hostTensor("i32", shape, made);
  },
  oracle: {
    numpy: lines(
      PHILOX_ORACLE,
      `
def draw(logits, u):
    order = np.argsort(-logits, kind="stable")
    if a["temperature"] == 0 or a["topK"] == 1:
        return order[0]
    order = order[: a["topK"] or None]
    p = scipy.special.softmax(logits[order] / a["temperature"])
    if a["topP"] < 1:
        count = max(1, int(np.sum(np.cumsum(p) - p < a["topP"])))
        order, p = order[:count], p[:count]
    keep = p >= a["minP"] * p[0]
    order, p = order[keep], p[keep]
    return order[np.searchsorted(np.cumsum(p) / np.sum(p), u, side="right")]
`.trim(),
      "rows = x0.reshape(-1, x0.shape[-1])",
      "made = [draw(row, u) for row, u in zip(rows, unit(x1, (len(rows),)))]",
      "np.array(made, np.int32).reshape(s)",
    ),
  },
  gradient: nondifferentiable("the result is positions: their derivative is zero wherever it exists"),
  batching: decomposed(parts),
  traits: ["pure", "sensitive"],
  backends: {
    cpu: decomposed(parts),
    coreml: unsupported("Core ML draws no random numbers by a seed: it runs as a host segment between Core ML models"),
    mlx: decomposed(parts),
  },
  samples: withDoubles([
    drawn("plain, odd sizes", [normal(1, [3, 5]), seedInput(1, 2, 0, 0)], {}),
    drawn("many rows, top-k", [normal(2, [40, 9], 2), seedInput(3, 4, 5, 6)], { topK: 3 }),
    drawn(
      "top-p, symbolic rows",
      [normal(3, ["T", 2, 7], 2), seedInput(-7, 8, 0, 1)],
      { topP: 0.6 },
      { bindings: { T: 9 } },
    ),
    drawn("min-p", [normal(4, [30, 7], 2), seedInput(9, 1, 0, 2)], { minP: 0.2 }),
    drawn("all of it, hot", [normal(5, [30, 11], 3), seedInput(9, 1, 1, 2)], {
      temperature: 1.7,
      topK: 6,
      topP: 0.9,
      minP: 0.05,
    }),
    drawn("a share of nothing keeps the largest", [normal(6, [4, 5]), seedInput(2, 2, 2, 2)], { topP: 0 }),
    drawn("temperature 0", [values([1, 3, 3, 2, 0, -1], [2, 3]), seedInput(0, 0, 0, 0)], { temperature: 0 }),
    drawn("more than there are, one row", [normal(8, [4]), seedInput(5, 5, 5, 5)], { topK: 9 }),
    drawn("minus infinity is never drawn", [values([-Infinity, 0, -Infinity, 0.5]), seedInput(5, 1, 5, 5)], {}),
    drawn("no rows", [values([], [0, 3]), seedInput(1, 2, 3, 4)], {}),
  ]),
});
