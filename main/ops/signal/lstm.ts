import { mlxCall } from "../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import { staticDim } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { elementCount, formatType, sameShape, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { decomposed, defineOp, unsupported } from "../defineOp.ts";
import { filled } from "../families/constants.ts";
import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import { at } from "../families/host.ts";
import { normal, sample, withDoubles } from "../families/samples.ts";
import { logistic } from "../families/unary.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { lines } from "../families/oracle.ts";

export interface LstmAttrs {
  readonly hidden: number;
  readonly layers: number;
  readonly bidirectional: boolean;
}

/** One layer in one direction: where its blocks start in the packed weights, and how wide its operand is. */
interface Cell {
  readonly index: number;
  readonly layer: number;
  readonly reverse: boolean;
  readonly width: number;
  readonly inputAt: number;
}

/** Blocks lie layer by layer, then by direction. */
function cellsOf({ hidden, layers, bidirectional }: LstmAttrs, inputSize: number): readonly Cell[] {
  const directions = bidirectional ? 2 : 1;
  const cells: Cell[] = [];
  let inputAt = 0;
  for (let index = 0; index < layers * directions; index++) {
    const layer = Math.floor(index / directions);
    const width = layer === 0 ? inputSize : directions * hidden;
    cells.push({ index, layer, reverse: index % directions === 1, width, inputAt });
    inputAt += 4 * hidden * width;
  }
  return cells;
}

function inferLstm(
  [x, wIh, wHh, bias, h0, c0]: InputsOf<Range<4, 6>, TensorType>,
  attrs: LstmAttrs,
): readonly TensorType[] {
  const [batch = 0, steps = 0, inputSize] = x.shape;
  const { hidden } = attrs;
  if (x.shape.length !== 3 || typeof inputSize !== "number" || !isFloat(x.dtype))
    throw new WorkbenchError("IR_SHAPE", `[lstm] operand: got ${formatType(x)}, expected floats [batch, steps, input]`);
  const cells = cellsOf(attrs, inputSize);
  const sizes = [
    cells.reduce((sum, cell) => sum + 4 * hidden * cell.width, 0),
    cells.length * 4 * hidden * hidden,
    cells.length * 4 * hidden,
  ];
  for (const [i, w] of [wIh, wHh, bias].entries())
    if (w.dtype !== x.dtype || elementCount(w) !== sizes[i])
      throw new WorkbenchError(
        "IR_SHAPE",
        `[lstm] ${["input weights", "state weights", "bias"][i] ?? "weights"}: got ${formatType(w)}, expected ${sizes[i] ?? 0} elements of ${x.dtype}`,
      );
  const state = [cells.length, batch, hidden];
  for (const s of [h0, c0])
    if (s && (s.dtype !== x.dtype || !sameShape(s.shape, state)))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[lstm] state: got ${formatType(s)}, expected ${x.dtype}[${state.join(",")}]`,
      );
  if ((h0 === undefined) !== (c0 === undefined))
    throw new WorkbenchError("IR_STRUCTURE", "[lstm] states: got one, expected h and c or none");
  const dtype = plainDType(x.dtype, "lstm");
  return [
    tensor(dtype, [batch, steps, (attrs.bidirectional ? 2 : 1) * hidden]),
    tensor(dtype, state),
    tensor(dtype, state),
  ];
}

function reference(
  [x, wIh, wHh, bias, h0, c0]: InputsOf<Range<4, 6>, HostTensor>,
  attrs: LstmAttrs,
): readonly HostTensor[] {
  const [batch = 0, steps = 0, inputSize = 0] = x.shape;
  const { hidden } = attrs;
  const directions = attrs.bidirectional ? 2 : 1;
  const cells = cellsOf(attrs, inputSize);
  const [hEnd, cEnd] = [h0, c0].map((s) => (s ? s.data.slice() : new Float64Array(cells.length * batch * hidden))) as [
    Float64Array,
    Float64Array,
  ];
  let layerIn = x.data;
  let layerOut = new Float64Array(0);
  for (const cell of cells) {
    if (!cell.reverse) layerOut = new Float64Array(batch * steps * directions * hidden);
    for (let b = 0; b < batch; b++)
      for (let step = 0; step < steps; step++) {
        const t = cell.reverse ? steps - 1 - step : step;
        const stateAt = (cell.index * batch + b) * hidden;
        const gates = Float64Array.from({ length: 4 * hidden }, (_, row) => {
          let z = at(bias.data, cell.index * 4 * hidden + row);
          for (let i = 0; i < cell.width; i++)
            z += at(wIh.data, cell.inputAt + row * cell.width + i) * at(layerIn, (b * steps + t) * cell.width + i);
          for (let i = 0; i < hidden; i++)
            z += at(wHh.data, (cell.index * 4 * hidden + row) * hidden + i) * at(hEnd, stateAt + i);
          return z;
        });
        for (let i = 0; i < hidden; i++) {
          const [input, forget, fresh, output] = [0, 1, 2, 3].map((gate) => at(gates, gate * hidden + i)) as [
            number,
            number,
            number,
            number,
          ];
          const c = logistic(forget) * at(cEnd, stateAt + i) + logistic(input) * Math.tanh(fresh);
          cEnd[stateAt + i] = c;
          hEnd[stateAt + i] = logistic(output) * Math.tanh(c);
          layerOut[(b * steps + t) * directions * hidden + (cell.reverse ? hidden : 0) + i] = at(hEnd, stateAt + i);
        }
      }
    if (cell.reverse || directions === 1) layerIn = layerOut;
  }
  return [
    hostTensor(x.dtype, [batch, steps, directions * hidden], layerOut),
    hostTensor(x.dtype, [cells.length, batch, hidden], hEnd),
    hostTensor(x.dtype, [cells.length, batch, hidden], cEnd),
  ];
}

/** Unrolled over the steps, which must be a number. */
function decompose(
  g: OpBuilder,
  [x, wIh, wHh, bias, h0, c0]: InputsOf<Range<4, 6>, Value>,
  attrs: LstmAttrs,
): readonly Value[] {
  const { dtype, shape } = g.typeOf(x);
  const [batch = 0, stepsDim = 0, inputSize = 0] = shape;
  const steps = staticDim(stepsDim, "lstm");
  const { hidden } = attrs;
  const flat = (w: Value, start: number, sizes: readonly number[]): Value => {
    const count = sizes.reduce((a, b) => a * b, 1);
    const line = g.reshape([w], { shape: [elementCount(g.typeOf(w))] });
    return g.reshape([g.narrow([line], { axis: 0, start, length: count })], { shape: sizes });
  };
  const start = (state: Value | undefined, index: number): Value =>
    state === undefined
      ? filled(g, plainDType(dtype, "lstm"), [batch, hidden], 0)
      : g.reshape([g.narrow([state], { axis: 0, start: index, length: 1 })], { shape: [batch, hidden] });
  const stack = (items: readonly Value[], axis: number, size: number): Value =>
    g.concat(
      items.map((item) => g.reshape([item], { shape: axis === 0 ? [1, batch, size] : [batch, 1, size] })),
      { axis },
    );
  let layerIn = x;
  let sides: readonly Value[] = [];
  const [hEnd, cEnd]: [Value[], Value[]] = [[], []];
  for (const cell of cellsOf(attrs, staticDim(inputSize, "lstm"))) {
    const [w, u] = [
      flat(wIh, cell.inputAt, [4 * hidden, cell.width]),
      flat(wHh, cell.index * 4 * hidden * hidden, [4 * hidden, hidden]),
    ];
    const b = flat(bias, cell.index * 4 * hidden, [4 * hidden]);
    let [h, c] = [start(h0, cell.index), start(c0, cell.index)];
    const rows: Value[] = [];
    for (let step = 0; step < steps; step++) {
      const t = cell.reverse ? steps - 1 - step : step;
      const now = g.reshape([g.narrow([layerIn], { axis: 1, start: t, length: 1 })], { shape: [batch, cell.width] });
      const gates = g.split([g.add([g.linear([now, w, b]), g.linear([h, u])])], {
        axis: 1,
        sizes: [hidden, hidden, hidden, hidden],
      });
      const [input, forget, fresh, output] = gates as readonly [Value, Value, Value, Value];
      c = g.add([g.mul([g.sigmoid([forget]), c]), g.mul([g.sigmoid([input]), g.tanh([fresh])])]);
      h = g.mul([g.sigmoid([output]), g.tanh([c])]);
      rows[t] = h;
    }
    hEnd.push(h);
    cEnd.push(c);
    sides = [...sides, stack(rows, 1, hidden)];
    if (cell.reverse || !attrs.bidirectional)
      layerIn = sides.length === 1 ? (sides[0] ?? x) : g.concat(sides, { axis: 2 });
    if (cell.reverse || !attrs.bidirectional) sides = [];
  }
  return [layerIn, stack(hEnd, 0, hidden), stack(cEnd, 0, hidden)];
}

/** By NumPy: gates in the order i, f, g, o, layers one after the other, both directions. */
const ORACLE = `
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

export const lstm: Op<"lstm", LstmAttrs, Range<4, 6>, "many"> = defineOp({
  name: "lstm",
  summary:
    "Long short-term memory over x [batch, steps, input]: gates in order i, f, g, o; gives the sequence, h and c.",
  arity: { least: 4, most: 6 },
  operands: ["x", "input weight", "state weight", "bias", "first hidden", "first cell"],
  outputs: "many",
  results: ["sequence", "hidden", "cell"],
  attributes: { hidden: attr.int(1), layers: attr.int(1), bidirectional: attr.bool() },
  infer: inferLstm,
  reference,
  oracle: {
    numpy: lines(
      ORACLE,
      'zero = np.zeros((a["layers"] * (2 if a["bidirectional"] else 1), x0.shape[0], a["hidden"]))',
      'run(x0, x1, x2, x3, *(xs[4:] if len(xs) > 4 else (zero, zero)), a["hidden"], a["layers"], a["bidirectional"])',
    ),
  },
  gradient: decomposed(decompose),
  batching: decomposed(decompose),
  traits: ["pure", "host"],
  backends: {
    cpu: cpuKernel("lstm", {
      takes: REALS,
      params: ({ hidden, layers, bidirectional }) => ({ hidden, layers, bidirectional }),
    }),
    coreml: unsupported(
      "Core ML's lstm wants its weights at compile time, one layer at a time, and no compute unit but the CPU runs it: it is a host segment between Core ML models",
    ),
    mlx: mlxCall("lstm", { attrs: ({ hidden, layers, bidirectional }) => ({ hidden, layers, bidirectional }) }),
  },
  samples: withDoubles([
    sample(
      "one layer, odd sizes",
      [normal(1, [2, 3, 5]), normal(2, [12, 5], 0.5), normal(3, [12, 3], 0.5), normal(4, [12], 0.5)],
      { hidden: 3, layers: 1, bidirectional: false },
    ),
    sample(
      "two layers, both directions",
      [
        normal(5, [1, 4, 3]),
        normal(6, [2 * 8 * 3 + 2 * 8 * 4], 0.5),
        normal(7, [4 * 8 * 2], 0.5),
        normal(8, [4 * 8], 0.5),
      ],
      { hidden: 2, layers: 2, bidirectional: true },
    ),
    sample(
      "given states, symbolic batch",
      [
        normal(9, ["B", 2, 2]),
        normal(10, [8, 2], 0.5),
        normal(11, [8, 2], 0.5),
        normal(12, [8], 0.5),
        normal(13, [1, "B", 2]),
        normal(14, [1, "B", 2]),
      ],
      { hidden: 2, layers: 1, bidirectional: false },
      { bindings: { B: 2 } },
    ),
  ]),
});
