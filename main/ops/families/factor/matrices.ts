/** What ops over the matrices of a batch share: types, a reference matrix by matrix, batching, entries, and parts of gradients. */
import type { CpuKernel } from "../../../backends/cpu/kernels.ts";
import { REALS, cpuKernel } from "../../../backends/cpu/rules.ts";
import type { KernelParams } from "../../../backends/cpu/emitter.ts";
import type { MlxFunction } from "../../../backends/mlx/functions.ts";
import type { MlxAttrs } from "../../../backends/mlx/emitter.ts";
import { mlxCall } from "../../../backends/mlx/rules.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { Dim } from "../../../ir/dim.ts";
import type { DType } from "../../../ir/dtype.ts";
import { dtypeAmong } from "../../../ir/dtype.ts";
import type { Value } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../../ir/hostTensor.ts";
import type { TensorType } from "../../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../../ir/type.ts";
import { swapLast } from "../../linalg/matmul.ts";
import type { Arity, Batching } from "../../defineOp.ts";
import { unsupported } from "../../defineOp.ts";
import type { OpBuilder } from "../../opBuilder.ts";
import { asBatched } from "../batching.ts";
import { scalarLike } from "../constants.ts";
import { boundShape, at } from "../host.ts";
import type { Matrix } from "./routines.ts";

export interface MatrixType {
  readonly dtype: DType;
  readonly batch: readonly Dim[];
  readonly rows: Dim;
  readonly columns: Dim;
}

export function matrixType(op: string, x: TensorType): MatrixType {
  const [rows, columns] = x.shape.slice(-2);
  const dtype = dtypeAmong("floats", x.dtype, op);
  if (rows === undefined || columns === undefined)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] operand: got ${formatType(x)}, expected matrices [.., rows, columns]`,
    );
  return { dtype, batch: x.shape.slice(0, -2), rows, columns };
}

export function squareType(op: string, x: TensorType): MatrixType {
  const type = matrixType(op, x);
  if (type.rows !== type.columns)
    throw new WorkbenchError("IR_SHAPE", `[${op}] operand: got ${formatType(x)}, expected square matrices [.., N, N]`);
  return type;
}

/** The smaller of both sizes. */
export function shorterSide(op: string, { rows, columns }: MatrixType): Dim {
  if (rows === columns) return rows;
  if (typeof rows !== "number" || typeof columns !== "number")
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] sizes: got ${rows} and ${columns}, expected two numbers, or one size`,
      {
        hint: "Specialise the graph first: which of both is smaller decides the shapes of the results.",
      },
    );
  return Math.min(rows, columns);
}

/** [.., N, N] and [.., N, K] with the same axes in front. */
export function inferSolve(op: string, [a, b]: readonly [TensorType, TensorType]): TensorType {
  const [left, right] = [squareType(op, a), matrixType(op, b)];
  if (!sameShape([...left.batch, left.rows], [...right.batch, right.rows]) || left.dtype !== right.dtype)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] operands: got ${formatType(a)} and ${formatType(b)}, expected [.., N, N] and [.., N, K] of one dtype, with the same axes in front`,
    );
  return tensor(right.dtype, b.shape);
}

const matrixAt = (x: HostTensor, item: number): Matrix => {
  const [rows, columns] = [at(x.shape, x.shape.length - 2), at(x.shape, x.shape.length - 1)];
  return { rows, columns, data: x.data.subarray(item * rows * columns, (item + 1) * rows * columns) };
};

/** `f` of the matrices of each item. */
export function eachMatrix(
  inputs: readonly HostTensor[],
  types: readonly TensorType[],
  f: (matrices: readonly Matrix[]) => readonly Float64Array[],
): readonly HostTensor[] {
  const [first] = inputs;
  const items = first === undefined ? 0 : sizeOf(first.shape.slice(0, -2));
  const results = types.map((type) => new Float64Array(sizeOf(boundShape(type, "matrices"))));
  for (let item = 0; item < items; item++)
    f(inputs.map((x) => matrixAt(x, item))).forEach((made, i) => results[i]?.set(made, item * made.length));
  return types.map((type, i) =>
    hostTensor(first?.dtype ?? "f64", boundShape(type, "matrices"), results[i] ?? new Float64Array(0)),
  );
}

/** Axes in front are items already. */
export const matrixBatching = <Attrs, A extends Arity>(op: string): Batching<Attrs, A> => ({
  kind: "rule",
  rule: ({ g, inputs, batched, size, attrs }) =>
    g.graph.apply(
      op,
      (inputs as readonly Value[]).map((x, i) => asBatched(g, x, batched[i] === true, size)),
      attrs as Parameters<OpBuilder["graph"]["apply"]>[2],
    ),
});

const ON_CORE_ML =
  "Core ML solves no systems and factors no matrices: this runs as a host segment between Core ML models";

/** Of any arity. */
interface MatrixBackends<Attrs> {
  readonly cpu: ReturnType<typeof cpuKernel<Attrs>>;
  readonly coreml: ReturnType<typeof unsupported>;
  readonly mlx: ReturnType<typeof mlxCall<Attrs>>;
}

export const matrixBackends = <Attrs>(
  name: CpuKernel & MlxFunction,
  params: (attrs: Attrs) => KernelParams & MlxAttrs = () => ({}),
): MatrixBackends<Attrs> => ({
  cpu: cpuKernel<Attrs>(name, { takes: REALS, params }),
  coreml: unsupported(ON_CORE_ML),
  mlx: mlxCall<Attrs>(name, { attrs: params }),
});

export const scaled = (g: OpBuilder, x: Value, factor: number): Value => g.mul([x, scalarLike(g, x, factor)]);

/** a bᵀ of the last two axes. */
export const timesTransposed = (g: OpBuilder, a: Value, b: Value): Value => g.matmul([a, swapLast(g, b)]);
export const transposedTimes = (g: OpBuilder, a: Value, b: Value): Value => g.matmul([swapLast(g, a), b]);

/** The lower triangle with half of the diagonal: Φ of the gradients. */
export function halfLower(g: OpBuilder, x: Value): Value {
  const both = g.add([g.trilu([x], { upper: false, k: 0 }), g.trilu([x], { upper: false, k: -1 })]);
  return scaled(g, both, 0.5);
}

/** What an op that reads the lower triangle only is told of the cotangent of the whole matrix: both halves are one number. */
export const toLower = (g: OpBuilder, x: Value): Value => halfLower(g, g.add([x, swapLast(g, x)]));

/** x [.., N] as a row [.., 1, N] or as a column [.., N, 1]. */
export function asRow(g: OpBuilder, x: Value): Value {
  const { shape } = g.typeOf(x);
  return g.reshape([x], { shape: [...shape.slice(0, -1), 1, shape.at(-1) ?? 1] });
}
export const asColumn = (g: OpBuilder, x: Value): Value => g.reshape([x], { shape: [...g.typeOf(x).shape, 1] });

/** x [..] as matrices of one element. */
export const asOne = (g: OpBuilder, x: Value): Value => asColumn(g, asColumn(g, x));

/** Truth on the diagonal of an [n, n] matrix. */
export function onDiagonal(g: OpBuilder, n: Dim): Value {
  const places = (axis: number): Value => g.iota([], { shape: [n, n], axis });
  return g.compare([places(0), places(1)], { op: "eq" });
}

/** 1 / (b - a) of all pairs of x, column minus row, and zero on the diagonal. */
export function inverseGaps(g: OpBuilder, x: Value): Value {
  const gaps = g.sub([asRow(g, x), asColumn(g, x)]);
  const diagonal = onDiagonal(g, g.typeOf(x).shape.at(-1) ?? 1);
  const [one, zero] = [scalarLike(g, x, 1), scalarLike(g, x, 0)];
  return g.where([diagonal, zero, g.div([one, g.where([diagonal, one, gaps])])]);
}

/** Numbers on the diagonals of matrices, zeros elsewhere. */
export const diagonalOf = (g: OpBuilder, x: Value): Value =>
  g.where([onDiagonal(g, g.typeOf(x).shape.at(-1) ?? 1), asRow(g, x), scalarLike(g, x, 0)]);

/** a⁻ᵀ, by solving for the unit matrix. */
export function inverseTransposed(g: OpBuilder, a: Value): Value {
  const { dtype, shape } = g.typeOf(a);
  const n = shape.at(-1) ?? 1;
  const unit = g.cast([onDiagonal(g, n)], { to: dtypeAmong("floats", dtype, "inverse") });
  return g.dense_solve([swapLast(g, a), g.expand([unit], { shape })]);
}
