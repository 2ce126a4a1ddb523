/** The error function in float64: Taylor series near zero, continued fraction (Lentz) far from it. */

const TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);

/** erf x = 2/√π · Σ (-1)^n x^(2n+1) / (n! (2n+1)). */
function series(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum) && n < 200; n++) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return TWO_OVER_ROOT_PI * sum;
}

/** erfc x = e^(-x²)/√π · 1/(x + ½/(x + 1/(x + 3⁄2/(x + …)))). */
function complement(x: number): number {
  let fraction = x;
  for (let n = 60; n >= 1; n--) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
}

export function erfOf(x: number): number {
  const size = Math.abs(x);
  if (size < 2.5) return series(x);
  return Math.sign(x) * (1 - complement(size));
}
