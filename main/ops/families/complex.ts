/**
 * Complex numbers as fft has them: the last axis holds N real parts and then N imaginary parts. Sums are add and sub. Numbers of the
 * type c64 come into this layout by from_complex and leave it by to_complex.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NoAttrs } from "../../ir/attributes.ts";
import { isFloat, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { broadcastShapes, formatType, tensor } from "../../ir/type.ts";
import type { Sample } from "../defineOp.ts";
import { unsupported } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { at, broadcastData, numbersOf } from "./host.ts";
import { normals, sample, uniform, values, withDoubles } from "./samples.ts";

/** What is said behind an operand that is no block. */
export const asBlock = ({ dtype }: TensorType): string =>
  dtype === "c64" ? "floats [.., 2N], which from_complex makes of it" : "floats [.., 2N]";

/** How many numbers the last axis holds. */
export function countOf(op: string, x: TensorType): number {
  const size = x.shape.at(-1);
  if (!isFloat(x.dtype) || typeof size !== "number" || size % 2 !== 0)
    throw new WorkbenchError("IR_SHAPE", `[${op}] operand: got ${formatType(x)}, expected ${asBlock(x)}`, {
      hint: "The real parts come first, then the imaginary parts: concat joins them.",
    });
  return size / 2;
}

export function inferPairs(op: string, [a, b]: readonly [TensorType, TensorType]): TensorType {
  if (countOf(op, a) !== countOf(op, b) || a.dtype !== b.dtype)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] operands: got ${formatType(a)} and ${formatType(b)}, expected as many numbers of one type`,
    );
  return tensor(plainDType(a.dtype, op), broadcastShapes(a.shape, b.shape, op));
}

export type Pair<T> = readonly [re: T, im: T];

export function split(g: OpBuilder, z: Value): Pair<Value> {
  const { shape } = g.typeOf(z);
  const [axis, length] = [shape.length - 1, Number(shape.at(-1) ?? 2) / 2];
  return [g.narrow([z], { axis, start: 0, length }), g.narrow([z], { axis, start: length, length })];
}

export const join = (g: OpBuilder, [re, im]: Pair<Value>): Value =>
  g.concat([re, im], { axis: g.typeOf(re).shape.length - 1 });

/** `f` of the numbers of two tensors, which broadcast but for the last axis. */
export function mapPairs([a, b]: Pair<HostTensor>, f: (x: Pair<number>, y: Pair<number>) => Pair<number>): HostTensor {
  const shape = numbersOf(broadcastShapes(a.shape, b.shape, "complex"), "complex");
  const [x, y] = [broadcastData(a, shape), broadcastData(b, shape)];
  const out = new Float64Array(x.length);
  const width = shape.at(-1) ?? 2;
  const half = width / 2;
  for (let row = 0; row < out.length; row += width)
    for (let i = row; i < row + half; i++)
      [out[i], out[i + half]] = f([at(x, i), at(x, i + half)], [at(y, i), at(y, i + half)]);
  return hostTensor(a.dtype, shape, out);
}

export const COMPLEX_ON_HOST = unsupported(
  "Core ML has no complex numbers: it runs as a host segment between Core ML models",
);

/** Python of the oracles: numbers of a block, and their block. */
export const COMPLEX_ORACLE = `
def z(x):
    return x[..., : x.shape[-1] // 2] + 1j * x[..., x.shape[-1] // 2 :]

def block(z):
    return np.concatenate([np.real(z), np.imag(z)], -1)
`.trim();

export const complexPairs: readonly Sample<NoAttrs>[] = withDoubles([
  sample("same shape, odd count", normals(1, [3, 10], [3, 10]), {}),
  sample("broadcast both ways", normals(3, [4, 1, 6], [2, 6]), {}),
  sample("symbolic rows", [normals(5, ["T", 2])[0] ?? values([]), uniform(6, [2], 0.5, 2)], {}, { bindings: { T: 3 } }),
  sample("nothing", [values([], [0, 4]), values([], [0, 4])], {}),
]);
