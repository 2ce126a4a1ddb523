/** Ranges of changed tensors are those of the whole. */
import { expect, it } from "vitest";
import type { TensorBytes } from "./tensorBytes.ts";
import { elementsOf, transposed, typeNamed } from "./tensorBytes.ts";

function counting(name: string, bytesEach: number, dims: readonly number[]): TensorBytes {
  const bytes = Uint8Array.from({ length: elementsOf(dims) * bytesEach }, (_, i) => i % 251);
  const read: TensorBytes["read"] = async (offset, length) => bytes.slice(offset, offset + length);
  return { type: typeNamed(name), dims, byteLength: bytes.length, read };
}

it.each([
  ["i8", 1],
  ["bf16", 2],
  ["f32", 4],
  ["f64", 8],
] as const)("matrices of %s whose rows and columns change places", async (name, size) => {
  const [columns, rows, matrices] = [5, 3, 2];
  const given = counting(name, size, [columns, rows, matrices]);
  const turned = transposed(given);
  expect(turned.dims).toEqual([rows, columns, matrices]);
  const before = await given.read(0, given.byteLength);
  const expected: number[] = [];
  for (let m = 0; m < matrices; m++)
    for (let c = 0; c < columns; c++)
      for (let r = 0; r < rows; r++) {
        const at = ((m * rows + r) * columns + c) * size;
        expected.push(...before.subarray(at, at + size));
      }
  expect([...(await turned.read(0, turned.byteLength))]).toEqual(expected);
  for (const [offset, length] of [
    [0, 1],
    [7, 11],
    [columns * rows * size - 3, 6],
    [turned.byteLength - 2, 2],
  ] as const)
    expect([...(await turned.read(offset, length))]).toEqual(expected.slice(offset, offset + length));
});
