/** Numbers as the bits of half floats, rounded to nearest even. Constants only: weights are never converted in TypeScript. */
const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

export function floatToBfloat(value: number): number {
  float[0] = value;
  const word = bits[0] ?? 0;
  if (Number.isNaN(value)) return (word >>> 16) | 0x40;
  return ((word + 0x7fff + ((word >>> 16) & 1)) >>> 16) & 0xffff;
}

export function floatToHalf(value: number): number {
  float[0] = value;
  const word = bits[0] ?? 0;
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  // Below 2^-14 a half counts in steps of 2^-24.
  if (magnitude < 0x38800000) return sign | roundEven(Math.abs(float[0] ?? 0) * 2 ** 24);
  const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
  return sign | ((rounded - 0x38000000) >>> 13);
}

function roundEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  return low % 2 === 0 ? low : low + 1;
}
