/** Running products and largest numbers along one axis: all but the fold. */
import type { MlxFunction } from "../../backends/mlx/functions.ts";
import type { CpuKernel } from "../../backends/cpu/kernels.ts";
import { NUMBERS, cpuKernel } from "../../backends/cpu/rules.ts";
import { mlxCall } from "../../backends/mlx/rules.ts";
import { attr } from "../../ir/attributes.ts";
import type { DType } from "../../ir/dtype.ts";
import { plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { normalizeAxis } from "../../ir/type.ts";
import type { Op, Oracle, Sample } from "../defineOp.ts";
import { decomposed, defineOp } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { axisBatching, axisParam } from "./axes.ts";
import { scalarLike } from "./constants.ts";
import { at, forEachLine } from "./host.ts";
import { integers, normal, sample, values, withDoubles } from "./samples.ts";
import { inferUnary } from "./unary.ts";

export interface RunningAttrs {
  readonly axis: number;
  /** From the end. */
  readonly reverse: boolean;
}

interface RunningFields {
  readonly summary: string;
  /** Of all elements up to one. */
  readonly kind: "prod" | "max";
  readonly fold: (a: number, b: number, dtype: DType) => number;
  /** What changes nothing. */
  readonly start: (dtype: DType) => number;
  readonly oracle: Oracle;
}

/** The axis once more for each element of it, what comes behind that element left out. */
const partsOf =
  ({ kind, start }: RunningFields) =>
  (g: OpBuilder, [x]: readonly [Value], { axis, reverse }: RunningAttrs): Value => {
    const { shape, dtype } = g.typeOf(x);
    const along = normalizeAxis(axis, shape.length, kind);
    const perm = [...shape.keys()].filter((i) => i !== along).concat(along);
    const moved = perm.map((i) => shape[i] ?? 1);
    const size = shape[along] ?? 1;
    const line = g.reshape([g.transpose([x], { perm })], { shape: [...moved.slice(0, -1), 1, size] });
    const square = [size, size];
    const kept = g.compare([g.iota([], { shape: square, axis: 1 }), g.iota([], { shape: square, axis: 0 })], {
      op: reverse ? "ge" : "le",
    });
    const upTo = g.where([kept, line, scalarLike(g, x, start(plainDType(dtype, kind)))]);
    const made = g.reduce([upTo], { kind, axes: [moved.length] });
    return g.transpose([made], { perm: shape.map((_, i) => perm.indexOf(i)) });
  };

export const runningOp = <Name extends CpuKernel & MlxFunction>(
  name: Name,
  fields: RunningFields,
): Op<Name, RunningAttrs, 1> => {
  const parts = partsOf(fields);
  const samples: readonly Sample<RunningAttrs>[] = withDoubles([
    sample("last axis, odd sizes", [normal(1, [3, 5])], { axis: -1, reverse: false }),
    sample("first axis, from the end", [normal(2, [5, 3])], { axis: 0, reverse: true }),
    sample("symbolic rows", [normal(3, ["T", 3])], { axis: 0, reverse: false }, { bindings: { T: 4 } }),
    sample(
      "infinities and NaN",
      [values([1, Infinity, -2, NaN, 3, -Infinity])],
      { axis: 0, reverse: false },
      {
        differentiable: false,
      },
    ),
    sample("whole numbers", [integers(5, [2, 7], -9, 9)], { axis: 1, reverse: false }),
    sample("bytes", [integers(6, [9], 0, 255, "u8")], { axis: 0, reverse: true }),
    sample("no lines", [values([], [0, 3])], { axis: 1, reverse: false }),
  ]);
  return defineOp({
    name,
    summary: fields.summary,
    arity: 1,
    operands: ["x"],
    outputs: "one",
    attributes: { axis: attr.int(), reverse: attr.bool() },
    infer: ([x], { axis }) => {
      normalizeAxis(axis, x.shape.length, name);
      return inferUnary(name, "numbers")([x]);
    },
    reference: ([x], { axis, reverse }) => {
      const along = normalizeAxis(axis, x.shape.length, name);
      const size = at(x.shape, along);
      const out = new Float64Array(x.data.length);
      forEachLine(x.shape, along, (first, stride) => {
        let made = fields.start(x.dtype);
        for (let step = 0; step < size; step++) {
          const i = first + (reverse ? size - 1 - step : step) * stride;
          made = fields.fold(made, at(x.data, i), x.dtype);
          out[i] = made;
        }
      });
      return hostTensor(x.dtype, x.shape, out);
    },
    oracle: fields.oracle,
    gradient: decomposed(parts),
    batching: axisBatching(name),
    traits: ["pure", "sensitive"],
    backends: {
      cpu: cpuKernel(name, {
        takes: NUMBERS,
        params: (attrs, node) => ({ ...attrs, ...axisParam(name)(attrs, node) }),
      }),
      coreml: decomposed(parts),
      mlx: mlxCall(name, {
        takes: "numbers",
        attrs: (attrs, node) => ({ ...attrs, ...axisParam(name)(attrs, node) }),
      }),
    },
    samples,
  });
};

/** A ufunc of NumPy, along the axis. */
export const accumulated = (ufunc: string): Oracle => ({
  numpy: `run = lambda x: ${ufunc}.accumulate(x, a["axis"], dtype=x.dtype)\nnp.flip(run(np.flip(x0, a["axis"])), a["axis"]) if a["reverse"] else run(x0)`,
});
