/**
 * What linear-like ops share: x · wᵀ with a weight [out, in] of any float or packed type, computed
 * in the dtype of x.
 */
import type { CoremlEmitter, MilValue } from "../../backends/coreml/emitter.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { isFloat, isPacked, plainDType } from "../../ir/dtype.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { addRowProducts } from "../../ir/rowProducts.ts";
import type { TensorType } from "../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { milPlain } from "../../backends/coreml/rules.ts";

export function inferLinear(op: string, x: TensorType, w: TensorType, bias?: TensorType): TensorType {
  const dtype = plainDType(x.dtype, op);
  if (!isFloat(dtype) || !(isFloat(w.dtype) || isPacked(w.dtype)))
    throw new WorkbenchError(
      "IR_TYPE",
      `[${op}] operands: got ${formatType(x)} and ${formatType(w)}, expected floats and a float or packed weight`,
    );
  const [rows, columns] = w.shape;
  if (rows === undefined || columns === undefined || w.shape.length !== 2 || x.shape.at(-1) !== columns)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[${op}] weight ${formatType(w)} does not fit ${formatType(x)}: expected [out, ${x.shape.at(-1) ?? "in"}]`,
    );
  if (bias && (bias.dtype !== dtype || !sameShape(bias.shape, [rows])))
    throw new WorkbenchError("IR_SHAPE", `[${op}] bias: got ${formatType(bias)}, expected ${dtype}[${rows}]`);
  return tensor(dtype, [...x.shape.slice(0, -1), rows]);
}

/** x · wᵀ + bias. */
export function multiplyTransposed(x: HostTensor, w: HostTensor, bias?: HostTensor): HostTensor {
  const inner = x.shape.at(-1) ?? 1;
  const columns = w.shape[0] ?? 1;
  const rows = sizeOf(x.shape.slice(0, -1));
  const out = new Float64Array(rows * columns);
  if (bias !== undefined) for (let r = 0; r < rows; r++) out.set(bias.data, r * columns);
  addRowProducts(x.data, w.data, out, [rows, columns, inner]);
  return hostTensor(x.dtype, [...x.shape.slice(0, -1), columns], out);
}

/** The weight as a plain tensor of the dtype of `x`. */
export function denseWeight(g: OpBuilder, x: Value, w: Value): Value {
  const dtype = plainDType(g.typeOf(x).dtype, "linear");
  const plain = isPacked(g.typeOf(w).dtype) ? g.dequantize([w]) : w;
  return g.typeOf(plain).dtype === dtype ? plain : g.cast([plain], { to: dtype });
}

/** Core ML: a weight from the file by `emitter.linear`, a computed one by a product. */
export function milLinear(e: CoremlEmitter, x: MilValue, w: MilValue, bias?: MilValue): MilValue {
  return e.linear(x, w, bias === undefined ? undefined : milPlain(e, bias));
}
