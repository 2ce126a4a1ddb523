/**
 * What lstm, gru and rnn share: layers of cells over x [batch, steps, features], in one direction or both, with packed
 * weights and states that come in and go out. A cell says what one step makes of its gates; here is the rest: sizes, the
 * reference, and the layers as scans over the steps.
 *
 * Blocks lie layer by layer, then by direction: input weights [gates · hidden, width of the layer], state weights
 * [gates · hidden, hidden], biases [gates · hidden]; states [layers · directions, batch, hidden].
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import { attr } from "../../ir/attributes.ts";
import type { Dim } from "../../ir/dim.ts";
import { staticDim } from "../../ir/dim.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { elementCount, formatType, sameShape, tensor } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { filled } from "./constants.ts";
import { at } from "./host.ts";
import { lines } from "./oracle.ts";
import { scanOver } from "./turns.ts";

export interface LayerAttrs {
  readonly hidden: number;
  readonly layers: number;
  readonly bidirectional: boolean;
}

export const LAYER_ATTRIBUTES = { hidden: attr.int(1), layers: attr.int(1), bidirectional: attr.bool() };

/** For kernels and calls. */
export const layerParams = ({
  hidden,
  layers,
  bidirectional,
}: LayerAttrs): Readonly<Record<keyof LayerAttrs, number | boolean>> => ({ hidden, layers, bidirectional });

/** Why they are parts on Core ML, and what they are. */
export const LAYERS_ON_CORE_ML =
  "Core ML's recurrent operators want their weights at compile time, one layer at a time, and no compute unit but the CPU runs them: the input's part is one product, and the steps are a scan";

export interface Cell {
  readonly op: string;
  readonly gates: number;
  /** One: of input and state together. Two: that of the state stands by itself. */
  readonly biases: 1 | 2;
  readonly states: 1 | 2;
  /** One unit: its gates from the input and from the state, its states before; gives those after, the output first. */
  readonly unit: (input: readonly number[], state: readonly number[], before: readonly number[]) => readonly number[];
  /** The same for all units of a step: each gate [batch, hidden]. */
  readonly step: (
    g: OpBuilder,
    input: readonly Value[],
    state: readonly Value[],
    before: readonly Value[],
  ) => readonly Value[];
}

/** One layer in one direction: where its blocks start in the packed weights, and how wide its operand is. */
interface Block {
  readonly index: number;
  readonly reverse: boolean;
  readonly width: number;
  readonly inputAt: number;
}

const directionsOf = ({ bidirectional }: LayerAttrs): number => (bidirectional ? 2 : 1);

function blocksOf({ gates }: Cell, attrs: LayerAttrs, features: number): readonly Block[] {
  const { hidden, layers } = attrs;
  const directions = directionsOf(attrs);
  const blocks: Block[] = [];
  let inputAt = 0;
  for (let index = 0; index < layers * directions; index++) {
    const width = index < directions ? features : directions * hidden;
    blocks.push({ index, reverse: index % directions === 1, width, inputAt });
    inputAt += gates * hidden * width;
  }
  return blocks;
}

/** Operands by what they are; where no states are given, they start as zeros. */
function operandsOf<T>(
  cell: Cell,
  operands: readonly (T | undefined)[],
): { readonly fixed: readonly T[]; readonly states: readonly T[] } {
  const given = operands.filter((operand) => operand !== undefined);
  return { fixed: given.slice(0, 3 + cell.biases), states: given.slice(3 + cell.biases) };
}

export function inferLayers(
  cell: Cell,
  operands: readonly (TensorType | undefined)[],
  attrs: LayerAttrs,
): readonly TensorType[] {
  const { op, gates } = cell;
  const { fixed, states } = operandsOf(cell, operands);
  const [x, ...weights] = fixed;
  const [batch = 0, steps = 0, features] = x?.shape ?? [];
  if (x?.shape.length !== 3 || typeof features !== "number" || !isFloat(x.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] operand: got ${x ? formatType(x) : "nothing"}, expected floats [batch, steps, input]`,
    );
  const { hidden } = attrs;
  const blocks = blocksOf(cell, attrs, features);
  const sizes = [
    blocks.reduce((sum, { width }) => sum + gates * hidden * width, 0),
    blocks.length * gates * hidden * hidden,
    ...new Array<number>(cell.biases).fill(blocks.length * gates * hidden),
  ];
  const names = ["input weights", "state weights", "bias", "state bias"];
  for (const [i, w] of weights.entries())
    if (w.dtype !== x.dtype || elementCount(w) !== sizes[i])
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] ${names[i] ?? "weights"}: got ${formatType(w)}, expected ${sizes[i] ?? 0} elements of ${x.dtype}`,
      );
  const state: readonly Dim[] = [blocks.length, batch, hidden];
  for (const s of states)
    if (s.dtype !== x.dtype || !sameShape(s.shape, state))
      throw new WorkbenchError(
        "IR_SHAPE",
        `[${op}] state: got ${formatType(s)}, expected ${x.dtype}[${state.join(",")}]`,
      );
  if (states.length > 0 && states.length !== cell.states)
    throw new WorkbenchError("IR_STRUCTURE", `[${op}] states: got one, expected h and c or none`);
  const dtype = plainDType(x.dtype, op);
  const ends = Array.from({ length: cell.states }, () => tensor(dtype, state));
  return [tensor(dtype, [batch, steps, directionsOf(attrs) * hidden]), ...ends];
}

export function layersReference(
  cell: Cell,
  operands: readonly (HostTensor | undefined)[],
  attrs: LayerAttrs,
): readonly HostTensor[] {
  const { fixed, states } = operandsOf(cell, operands);
  const [x, wIh, wHh, ...biases] = fixed;
  invariant(x && wIh && wHh, `[${cell.op}] an operand is missing`);
  const [batch = 0, steps = 0, features = 0] = x.shape;
  const { hidden } = attrs;
  const [directions, rows] = [directionsOf(attrs), cell.gates * hidden];
  const blocks = blocksOf(cell, attrs, features);
  const ends = Array.from(
    { length: cell.states },
    (_, i) => states[i]?.data.slice() ?? new Float64Array(blocks.length * batch * hidden),
  );
  const [output] = ends;
  invariant(output, "a cell has a state");
  const sumOf = (w: HostTensor, wAt: number, v: Float64Array, vAt: number, width: number): number => {
    let sum = 0;
    for (let i = 0; i < width; i++) sum += at(w.data, wAt + i) * at(v, vAt + i);
    return sum;
  };
  let layerIn = x.data;
  let layerOut = new Float64Array(0);
  for (const { index, reverse, width, inputAt } of blocks) {
    if (!reverse) layerOut = new Float64Array(batch * steps * directions * hidden);
    for (let b = 0; b < batch; b++)
      for (let step = 0; step < steps; step++) {
        const t = reverse ? steps - 1 - step : step;
        const stateAt = (index * batch + b) * hidden;
        const ofState = Array.from({ length: rows }, (_, row) => {
          const bias = biases[1];
          const own = sumOf(wHh, (index * rows + row) * hidden, output, stateAt, hidden);
          return own + (bias ? at(bias.data, index * rows + row) : 0);
        });
        const ofInput = Array.from({ length: rows }, (_, row) => {
          const own = sumOf(wIh, inputAt + row * width, layerIn, (b * steps + t) * width, width);
          return own + at(biases[0]?.data ?? layerOut, index * rows + row);
        });
        for (let i = 0; i < hidden; i++) {
          const gatesAt = (all: readonly number[]): readonly number[] => all.filter((_, row) => row % hidden === i);
          const before = ends.map((state) => at(state, stateAt + i));
          const after = cell.unit(gatesAt(ofInput), gatesAt(ofState), before);
          ends.forEach((state, k) => (state[stateAt + i] = at(after, k)));
          layerOut[(b * steps + t) * directions * hidden + (reverse ? hidden : 0) + i] = at(after, 0);
        }
      }
    if (reverse || directions === 1) layerIn = layerOut;
  }
  return [
    hostTensor(x.dtype, [batch, steps, directions * hidden], layerOut),
    ...ends.map((state) => hostTensor(x.dtype, [blocks.length, batch, hidden], state)),
  ];
}

const product = (g: OpBuilder, x: Value, weight: Value, bias: Value | undefined): Value =>
  g.linear(bias === undefined ? [x, weight] : [x, weight, bias]);

/** A scan over the steps for each layer and direction, steps in front; what does not depend on the state is one product. */
export function layersParts(
  cell: Cell,
  g: OpBuilder,
  operands: readonly (Value | undefined)[],
  attrs: LayerAttrs,
): readonly Value[] {
  const { fixed, states } = operandsOf(cell, operands);
  const [x, wIh, wHh, ...biases] = fixed;
  invariant(x && wIh && wHh, `[${cell.op}] an operand is missing`);
  const { dtype, shape } = g.typeOf(x);
  const [batch = 0, steps = 0, features = 0] = shape;
  const { hidden } = attrs;
  const rows = cell.gates * hidden;
  const flat = (w: Value, start: number, sizes: readonly number[]): Value => {
    const length = sizes.reduce((a, b) => a * b, 1);
    const line = g.reshape([w], { shape: [elementCount(g.typeOf(w))] });
    return g.reshape([g.narrow([line], { axis: 0, start, length })], { shape: sizes });
  };
  const startOf = (state: Value | undefined, index: number): Value =>
    state === undefined
      ? filled(g, plainDType(dtype, cell.op), [batch, hidden], 0)
      : g.reshape([g.narrow([state], { axis: 0, start: index, length: 1 })], { shape: [batch, hidden] });
  const gatesOf = (h: OpBuilder, all: Value): readonly Value[] =>
    cell.gates === 1 ? [all] : h.split([all], { axis: 1, sizes: new Array<number>(cell.gates).fill(hidden) });

  let layerIn = g.transpose([x], { perm: [1, 0, 2] });
  let sides: readonly Value[] = [];
  const ends: (readonly Value[])[] = [];
  for (const { index, reverse, width, inputAt } of blocksOf(cell, attrs, staticDim(features, cell.op))) {
    const [bias, stateBias] = biases.map((b) => flat(b, index * rows, [rows]));
    const outer = product(g, layerIn, flat(wIh, inputAt, [rows, width]), bias);
    const made = scanOver(
      g,
      {
        carry: Array.from({ length: cell.states }, (_, i) => startOf(states[i], index)),
        fixed: [flat(wHh, index * rows * hidden, [rows, hidden]), ...(stateBias ? [stateBias] : [])],
        rows: [outer],
        ...{ length: steps, reverse, label: reverse ? "step back" : "step" },
      },
      (h, turn) => {
        const [[before], [weight, own], [input]] = [turn.carry, turn.fixed, turn.rows];
        invariant(before && weight && input, `[${cell.op}] a step has a state, weights and gates`);
        const after = cell.step(h, gatesOf(h, input), gatesOf(h, product(h, before, weight, own)), turn.carry);
        return { carry: after, rows: after.slice(0, 1) };
      },
    );
    ends.push(made.carry);
    sides = [...sides, ...made.rows];
    if (!reverse && attrs.bidirectional) continue;
    layerIn = sides.length === 1 ? (sides[0] ?? x) : g.concat(sides, { axis: 2 });
    sides = [];
  }
  const stacked = Array.from({ length: cell.states }, (_, i) => {
    const own = ends.flatMap((values) => values[i] ?? []).map((h) => g.reshape([h], { shape: [1, batch, hidden] }));
    return own.length === 1 ? own : [g.concat(own, { axis: 0 })];
  });
  return [g.transpose([layerIn], { perm: [1, 0, 2] }), ...stacked.flat()];
}

/** By NumPy, `first` for states that are not given. `cell` makes states of what the input and the state add to the gates. */
const RUN = `
def first(given, count):
    zero = np.zeros((a["layers"] * (2 if a["bidirectional"] else 1), x0.shape[0], a["hidden"]))
    return given if len(given) > 0 else [zero] * count

def run(x, wih, whh, biases, states, gates, cell):
    hidden, directions = a["hidden"], [1, -1] if a["bidirectional"] else [1]
    rows, ends, at = gates * hidden, [], 0
    wih, whh, biases = wih.ravel(), whh.ravel().reshape(-1, rows, hidden), [b.ravel().reshape(-1, rows) for b in biases]
    for layer in range(a["layers"]):
        outs, width = [], x.shape[2]
        for direction in directions:
            i = len(ends)
            w, at = wih[at : at + rows * width].reshape(rows, width), at + rows * width
            now, steps = [state[i] for state in states], []
            for t in range(x.shape[1])[::direction]:
                of_state = now[0] @ whh[i].T + (biases[1][i] if len(biases) > 1 else 0)
                now = cell(x[:, t] @ w.T + biases[0][i], of_state, *now)
                steps.append(now[0][:, None])
            outs.append(np.concatenate([np.zeros((x.shape[0], 0, hidden)), *steps[::direction]], 1))
            ends.append(now)
        x = np.concatenate(outs, 2)
    return x, *(np.stack(state) for state in zip(*ends))
`.trim();

/** The layers of an op by NumPy. `cell` is that function in Python: from the input, from the state, states before; gives those after. */
export function layersOracle(
  { gates, biases, states }: Pick<Cell, "gates" | "biases" | "states">,
  cell: string,
): { readonly numpy: string } {
  const behind = 3 + biases;
  return {
    numpy: lines(
      RUN,
      cell.trim(),
      `run(x0, x1, x2, xs[3:${behind}], first(xs[${behind}:], ${states}), ${gates}, cell)`,
    ),
  };
}
