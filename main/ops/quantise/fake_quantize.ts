import { attr } from "../../ir/attributes.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { dtypeAmong } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, formatType, normalizeAxis, sameShape, tensor } from "../../ir/type.ts";
import type { InputsOf, Op, Range } from "../defineOp.ts";
import { defineOp } from "../defineOp.ts";
import { scalarLike } from "../families/constants.ts";
import type { BitsAttrs } from "../families/fakeQuantize.ts";
import { bitsSchema, gridParts, mostOf, onGrid, stepTo } from "../families/fakeQuantize.ts";
import { largest } from "../families/lines.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { reduce } from "../reduce/reduce.ts";

type Arity = Range<1, 2>;

export interface FakeQuantizeAttrs extends BitsAttrs {
  /** Without a step: the axes that share one. All, when absent. */
  readonly axes?: readonly number[];
}

const sharedAxes = (rank: number, axes: readonly number[] | undefined): readonly number[] =>
  axes ?? Array.from({ length: rank }, (_, i) => i);

function infer([x, step]: InputsOf<Arity, TensorType>, { axes }: FakeQuantizeAttrs): TensorType {
  const dtype = dtypeAmong("floats", x.dtype, "fake_quantize");
  axes?.forEach((axis) => normalizeAxis(axis, x.shape.length, "fake_quantize"));
  if (step !== undefined) {
    const fits = step.dtype === x.dtype && sameShape(broadcastShapes(x.shape, step.shape, "fake_quantize"), x.shape);
    if (!fits || axes !== undefined)
      throw new WorkbenchError(
        "IR_SHAPE",
        `[fake_quantize] step: got ${formatType(step)}${axes === undefined ? "" : " and axes"}, expected ${dtype} that stretches to ${formatType(x)}, or axes alone`,
      );
  }
  return tensor(dtype, x.shape);
}

/** The largest number of each grid is its end. */
function ownStep(x: HostTensor, { bits, axes }: FakeQuantizeAttrs): HostTensor {
  const sizes = hostTensor(x.dtype, x.shape, x.data.map(Math.abs));
  const most = reduce.reference([sizes], { kind: "max", axes: sharedAxes(x.shape.length, axes), keepDims: true }, []);
  return { ...most, data: most.data.map((size) => stepTo(size, bits)) };
}

/** With a step of its own nothing lies beyond the grid, and all gradients go through. */
function parts(g: OpBuilder, [x, given]: InputsOf<Arity, Value>, { bits, axes }: FakeQuantizeAttrs): Value {
  if (given !== undefined) return gridParts(g, x, g.stop_gradient([given]), bits);
  const shared = sharedAxes(g.typeOf(x).shape.length, axes);
  const most = largest(g, g.abs([x]), { axes: shared, keepDims: true }, 0);
  const wide = g.mul([most, scalarLike(g, x, 1 / mostOf(bits))]);
  const hasWidth = g.compare([wide, scalarLike(g, x, 0)], { op: "gt" });
  const step = g.stop_gradient([g.where([hasWidth, wide, scalarLike(g, x, 1)])]);
  return g.mul([g.round([g.div([x, step])]), step]);
}

export const fake_quantize: Op<"fake_quantize", FakeQuantizeAttrs, Arity> = defineOp({
  name: "fake_quantize",
  summary:
    "x on the grid of so many bits, in floats: round(x / step) · step between −most and most steps, most = 2^(bits − 1) − 1. The step is given, or max |x| / most over the axes. The gradient goes straight through, and there is none beyond the grid or for the step.",
  arity: { least: 1, most: 2 },
  operands: ["x", "step"],
  outputs: "one",
  attributes: { ...bitsSchema, axes: attr.optional(attr.ints()) },
  infer,
  reference: ([x, step], attrs) =>
    step === undefined ? onGrid(x, ownStep(x, attrs), Infinity) : onGrid(x, step, mostOf(attrs.bits)),
  oracle: {
    numpy: lines(
      "most = 2 ** (a['bits'] - 1) - 1",
      "axes = None if a.get('axes') is None else tuple(a['axes'])",
      "wide = np.max(np.abs(x0), axis=axes, keepdims=True, initial=0) / most",
      "step = xs[1] if len(xs) > 1 else np.where(wide > 0, wide, 1)",
      "end = most if len(xs) > 1 else np.inf",
      "np.clip(np.rint(x0 / step), -end, end) * step",
    ),
  },
  ...byParts(parts),
  traits: ["pure", "sensitive"],
  // A rounding has steps: its gradient is not that of its numbers (fakeQuantize.test.ts has it).
  samples: withDoubles([
    sample("eight bits, one step, odd sizes", [normal(1, [3, 5])], { bits: 8 }, { differentiable: false }),
    sample("four bits, a step for each row", [normal(2, [3, 7])], { bits: 4, axes: [1] }, { differentiable: false }),
    sample(
      "two bits, symbolic rows, a given step",
      [normal(3, ["T", 7]), values([0.5], [])],
      { bits: 2 },
      { bindings: { T: 3 }, differentiable: false },
    ),
    sample(
      "a given step for each column, beyond the grid",
      [normal(4, [4, 3], 3), uniform(5, [3], 0.1, 0.4)],
      { bits: 4 },
      { differentiable: false },
    ),
    sample("nothing but zeros", [values([0, 0, 0])], { bits: 8 }, { differentiable: false }),
    sample("an empty axis", [values([], [3, 0])], { bits: 8, axes: [1] }, { differentiable: false }),
    sample("nothing at all", [values([], [0])], { bits: 4 }, { differentiable: false }),
    sample(
      "NaN and infinities",
      [values([NaN, Infinity, -Infinity, 1]), values([0.25], [])],
      { bits: 4 },
      { differentiable: false },
    ),
  ]),
});
