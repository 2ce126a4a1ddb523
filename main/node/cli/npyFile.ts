/** NumPy's array file of an output: a magic word, a header that Python reads, then the numbers. */

import { isDType } from "../../ir/dtype.ts";
import type { DType } from "../../ir/dtype.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";

/** NumPy's names of types. It has no bf16, which loses nothing as f32. */
const FORMS: Readonly<Record<DType, string>> = {
  f64: "<f8",
  f32: "<f4",
  f16: "<f2",
  bf16: "<f4",
  i64: "<i8",
  i32: "<i4",
  i16: "<i2",
  i8: "|i1",
  u32: "<u4",
  u8: "|u1",
  bool: "|b1",
  c64: "<c8",
};

export function npyBytes(type: string, shape: readonly number[], values: Float64Array): Uint8Array {
  const dtype = isDType(type) ? type : "f32";
  const descr = FORMS[dtype];
  const sizes = shape.length === 1 ? `${shape.join("")},` : shape.join(", ");
  const said = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // The numbers begin at a multiple of 64 bytes; the header ends with a line end.
  const header = said.padEnd(64 * Math.ceil((10 + said.length + 1) / 64) - 11) + "\n";
  // Each number by itself: a complex one is a pair.
  const data = tensorBytes({ dtype: descr === "<f4" ? "f32" : dtype, shape: [values.length], data: values });
  const bytes = new Uint8Array(10 + header.length + data.byteLength);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 0xff, header.length >> 8]);
  bytes.set(new TextEncoder().encode(header), 10);
  bytes.set(data, 10 + header.length);
  return bytes;
}
