/** Elements of less than a byte, as the program and the weight file hold them. */

/** One bit stream, least significant bit first, no row padding. */
export function packBits(bits: number, values: ArrayLike<number>): Uint8Array {
  const out = new Uint8Array(Math.ceil((values.length * bits) / 8));
  const mask = (1 << bits) - 1;
  for (let i = 0; i < values.length; i++) {
    const at = i * bits;
    const shifted = ((values[i] ?? 0) & mask) << (at & 7);
    out[at >> 3] = (out[at >> 3] ?? 0) | shifted;
    if ((at & 7) + bits > 8) out[(at >> 3) + 1] = (out[(at >> 3) + 1] ?? 0) | (shifted >> 8);
  }
  return out;
}

/** Elements of a bit stream, least significant bit first; `signed` for two's complement. */
export function unpackBits(bits: number, count: number, bytes: Uint8Array, signed: boolean): Int32Array {
  const out = new Int32Array(count);
  const mask = (1 << bits) - 1;
  const sign = signed ? 1 << (bits - 1) : 0;
  for (let i = 0; i < count; i++) {
    const at = i * bits;
    const word = (bytes[at >> 3] ?? 0) | ((bytes[(at >> 3) + 1] ?? 0) << 8);
    const value = (word >> (at & 7)) & mask;
    out[i] = (value ^ sign) - sign;
  }
  return out;
}
