/**
 * a to the power of b as IEEE 754 and C have it. JavaScript differs: there 1 to the power of NaN
 * and ±1 to that of ±∞ are NaN.
 */
export function realPower(a: number, b: number): number {
  if (a === 1 || (a === -1 && Math.abs(b) === Infinity)) return 1;
  return a ** b;
}
