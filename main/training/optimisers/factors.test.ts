/** The factors: what they are defined by, for matrices of several sizes and ranks, and the same from the graph. */
import { describe, expect, it } from "vitest";
import { hostTensor } from "../../ir/hostTensor.ts";
import { buildGraph, evaluate } from "../../library/graphs.ts";
import type { Algebra } from "../algebra.ts";
import { graphAlgebra } from "../graphAlgebra.ts";
import type { HostArray } from "../hostAlgebra.ts";
import { hostAlgebra, hostArray } from "../hostAlgebra.ts";
import { descending, eigenvectors, inverseOfUpper, orthonormal, upperOf } from "./factors.ts";

const a = hostAlgebra;
const waves = (rows: number, columns: number, seed: number): HostArray =>
  hostArray(
    [rows, columns],
    Array.from({ length: rows * columns }, (_, i) => (Math.sin(1 + 12.9898 * i + 78.233 * seed) * 43758.5453) % 1),
  );
const gram = (x: HostArray): HostArray => a.matmul(x, a.transpose(x));
const apart = (x: HostArray, y: HostArray): number => Math.max(...a.abs(a.sub(x, y)).data);
const apartFromOne = (q: HostArray): number => apart(gram(a.transpose(q)), a.identity(q.shape[1]!));

const SIZES = [1, 2, 3, 4, 5, 8, 13];

describe("eigenvectors", () => {
  it.each(SIZES)("of a matrix of %i rows make it diagonal, the largest value first", (size) => {
    const matrix = gram(waves(size, size + 1, size));
    const vectors = eigenvectors(a, matrix);
    expect(apartFromOne(vectors)).toBeLessThan(1e-12);
    const turned = a.matmul(a.transpose(vectors), a.matmul(matrix, vectors));
    const values = Array.from({ length: size }, (_, i) => turned.data[i * (size + 1)]!);
    expect(values).toEqual(values.toSorted((x, y) => y - x));
    const diagonal = a.mul(turned, a.identity(size));
    expect(apart(turned, diagonal)).toBeLessThan(1e-12 * Math.max(1, values[0]!));
  });

  it("of a matrix without full rank, and of zeros, are still orthogonal", () => {
    expect(apartFromOne(eigenvectors(a, gram(waves(6, 2, 3))))).toBeLessThan(1e-12);
    expect(apartFromOne(eigenvectors(a, a.mul(a.identity(5), a.scalar(0))))).toBe(0);
  });
});

it.each(SIZES)("orthonormal: Q R is the matrix of %i rows, R upper with a diagonal above zero", (size) => {
  const matrix = waves(size, size, 9);
  const q = orthonormal(a, matrix);
  expect(apartFromOne(q)).toBeLessThan(1e-12);
  const r = a.matmul(a.transpose(q), matrix);
  expect(apart(r, upperOf(a, r))).toBeLessThan(1e-12);
  for (let i = 0; i < size; i++) expect(r.data[i * (size + 1)]).toBeGreaterThan(0);
});

it.each(SIZES)("inverseOfUpper of %i rows", (size) => {
  const upper = a.add(upperOf(a, waves(size, size, 5)), a.mul(a.identity(size), a.scalar(2)));
  expect(apart(a.matmul(upper, inverseOfUpper(a, upper)), a.identity(size))).toBeLessThan(1e-9);
});

it("descending keeps the order of equal numbers", () => {
  const order = descending(a, hostArray([4, 1], [2, 5, 2, 7]));
  expect([...a.matmul(hostArray([1, 4], [0, 1, 2, 3]), order).data]).toEqual([3, 1, 0, 2]);
});

describe("as a graph", () => {
  type Factor = <T>(b: Algebra<T>, x: T) => T;
  it.each<readonly [string, Factor]>([
    ["eigenvectors", eigenvectors],
    ["orthonormal", orthonormal],
    ["inverseOfUpper", inverseOfUpper],
    ["upperOf", upperOf],
  ])("%s gives the same", (_, factor) => {
    const matrix = a.add(gram(waves(5, 7, 2)), a.identity(5));
    const graph = buildGraph("factor", (g) => {
      const x = g.input("x", "f64[5,5]");
      g.output("y", factor(graphAlgebra(g, "f64"), x));
    });
    const { y } = evaluate(graph, { x: hostTensor("f64", [5, 5], matrix.data) }).outputs;
    expect(apart(hostArray([5, 5], y!.data), factor(a, matrix))).toBeLessThan(1e-13);
  });
});
