/** NumPy's array file of an output: a magic word, a header that Python reads, then the numbers. */

const LONGEST = 2n ** 63n - 1n;
/** Float64 has 2^63 for the largest i64, which would wrap. */
const toLong = (value: number): bigint => (value >= 2 ** 63 ? LONGEST : BigInt(value));

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

/** The bits of a number that is a half. */
function toHalf(value: number): number {
  float[0] = value;
  const [bits = 0] = word;
  const sign = (bits >>> 16) & 0x8000;
  if (!Number.isFinite(value)) return sign | (Number.isNaN(value) ? 0x7e00 : 0x7c00);
  const size = Math.abs(value);
  // Below 2^-14 a half counts in steps of 2^-24. Above, its exponent begins 112 below that of a float.
  return sign | (size < 2 ** -14 ? size * 2 ** 24 : ((bits & 0x7fffffff) - 0x38000000) >>> 13);
}

const FORMS: Readonly<
  Record<string, { readonly descr: string; readonly make: (values: Float64Array) => ArrayBufferView }>
> = {
  f64: { descr: "<f8", make: (values) => values },
  f16: { descr: "<f2", make: (values) => Uint16Array.from(values, toHalf) },
  f32: { descr: "<f4", make: (values) => Float32Array.from(values) },
  i64: { descr: "<i8", make: (values) => BigInt64Array.from(values, toLong) },
  i32: { descr: "<i4", make: (values) => Int32Array.from(values) },
  i16: { descr: "<i2", make: (values) => Int16Array.from(values) },
  i8: { descr: "|i1", make: (values) => Int8Array.from(values) },
  u32: { descr: "<u4", make: (values) => Uint32Array.from(values) },
  u8: { descr: "|u1", make: (values) => Uint8Array.from(values) },
  bool: { descr: "|b1", make: (values) => Uint8Array.from(values) },
  c64: { descr: "<c8", make: (values) => Float32Array.from(values) },
};
/** bf16, which NumPy does not have; it loses nothing as f32. */
const OTHER = { descr: "<f4", make: (values: Float64Array) => Float32Array.from(values) };

export function npyBytes(dtype: string, shape: readonly number[], values: Float64Array): Uint8Array {
  const { descr, make } = FORMS[dtype] ?? OTHER;
  const sizes = shape.length === 1 ? `${shape.join("")},` : shape.join(", ");
  const said = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // The numbers begin at a multiple of 64 bytes; the header ends with a line end.
  const header = said.padEnd(64 * Math.ceil((10 + said.length + 1) / 64) - 11) + "\n";
  const data = make(values);
  const bytes = new Uint8Array(10 + header.length + data.byteLength);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 0xff, header.length >> 8]);
  bytes.set(new TextEncoder().encode(header), 10);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 10 + header.length);
  return bytes;
}
