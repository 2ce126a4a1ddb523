import { expect, it } from "vitest";
import { addRowProducts } from "./rowProducts.ts";

const filled = (length: number, seed: number): Float64Array =>
  Float64Array.from({ length }, (_, i) => Math.sin(seed + i * 1.7));

it.each([
  [1, 1, 1],
  [1, 4, 3],
  [1, 9, 5],
  [2, 4, 7],
  [3, 6, 2],
  [5, 11, 8],
  [4, 3, 9],
  [2, 8, 0],
  [0, 4, 2],
  [3, 0, 2],
])("%i rows by %i columns over %i: the bits of one sum after the other, at any place", (rows, columns, inner) => {
  const at = { x: 2, w: 3, out: 1 };
  const x = filled(at.x + rows * inner, 1);
  const w = filled(at.w + columns * inner, 2);
  const out = filled(at.out + rows * columns + 1, 3);
  const wanted = out.slice();
  for (let m = 0; m < rows; m++)
    for (let n = 0; n < columns; n++)
      for (let k = 0; k < inner; k++)
        wanted[at.out + m * columns + n]! += x[at.x + m * inner + k]! * w[at.w + n * inner + k]!;
  addRowProducts(x, w, out, [rows, columns, inner], at);
  expect(out).toEqual(wanted);
});
