/** Sparse matrices in graphs, against dense ones; gradients against central differences. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gradientGraph } from "../../../autodiff/vjp.ts";
import { GraphBuilder } from "../../../ir/builder.ts";
import type { Graph } from "../../../ir/graph.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { finish } from "../../../ir/steps.ts";
import { parseType } from "../../../ir/type.ts";
import { evaluate } from "../../evaluate.ts";
import { opBuilder, opTable } from "../../index.ts";
import { registerSparseKernels } from "./kernels.ts";

let undo = (): void => undefined;
beforeAll(() => (undo = registerSparseKernels()));
afterAll(() => undo());

// 4 -1 0 0 / -1 5 0 2 / 0 0 3 0 / 0 2 0 6: symmetric and positive.
const COLUMNS = hostTensor("i32", [8], [0, 1, 0, 1, 3, 2, 1, 3]);
const OFFSETS = hostTensor("i32", [5], [0, 2, 5, 6, 8]);
const VALUES = [4, -1, -1, 5, 2, 3, 2, 6];
const VECTOR = [1, -2, 0.5, 3];

function graphOf(name: string): Graph {
  const graph = new GraphBuilder(opTable, "sparse");
  const types = ["f64[8]", "i32[8]", "i32[5]", "f64[4]"].map(parseType);
  const inputs = ["values", "columns", "offsets", "x"].map((input, i) => graph.input(input, types[i]!));
  const [y] = opBuilder(graph).custom(inputs, { name, outputs: ["f64[4]"] });
  graph.output("y", y!);
  return graph.finish();
}

const given = (values: readonly number[], x: readonly number[], columns = COLUMNS, offsets = OFFSETS) => ({
  values: hostTensor("f64", [8], values),
  columns,
  offsets,
  x: hostTensor("f64", [4], x),
});
const run = (graph: Graph, inputs: ReturnType<typeof given>): readonly number[] => [
  ...finish(evaluate(graph, { inputs })).outputs["y"]!.data,
];
const dense = (x: readonly number[]): readonly number[] => [
  4 * x[0]! - x[1]!,
  -x[0]! + 5 * x[1]! + 2 * x[3]!,
  3 * x[2]!,
  2 * x[1]! + 6 * x[3]!,
];
const close = (got: readonly number[], want: readonly number[], limit = 1e-10): void =>
  want.forEach((value, i) => expect(Math.abs(got[i]! - value)).toBeLessThan(limit));

describe("sparse matrices", () => {
  it("multiply as the dense one does", () => {
    close(run(graphOf("csr_matvec"), given(VALUES, VECTOR)), dense(VECTOR));
  });

  it.each(["csr_solve", "csr_solve_transposed", "csr_conjugate_gradient"])(
    "%s gives back what was multiplied",
    (name) => {
      close(run(graphOf(name), given(VALUES, dense(VECTOR))), VECTOR);
    },
  );

  it("solve with pivots, and say NaN of a singular matrix", () => {
    const swapped = [0, -1, -1, 0, 2, 3, 2, 6];
    const b = run(graphOf("csr_matvec"), given(swapped, VECTOR));
    close(run(graphOf("csr_solve"), given(swapped, b)), VECTOR);
    expect(run(graphOf("csr_solve"), given([4, -1, -1, 5, 2, 0, 2, 6], VECTOR))).toEqual([NaN, NaN, NaN, NaN]);
    expect(run(graphOf("csr_solve"), given(VALUES.with(0, NaN), VECTOR))).toEqual([NaN, NaN, NaN, NaN]);
  });

  it.each(["csr_matvec", "csr_solve", "csr_solve_transposed", "csr_conjugate_gradient"])(
    "the gradient of %s equals central differences",
    (name) => {
      const graph = graphOf(name);
      const ct = [0.3, -1, 2, 0.7];
      const gradient = gradientGraph(graph, { of: ["y"], wrt: ["values", "x"] });
      const inputs = { ...given(VALUES, VECTOR), "cotangent.y": hostTensor("f64", [4], ct) };
      const { outputs } = finish(evaluate(gradient, { inputs }));
      const value = (values: readonly number[], x: readonly number[]): number =>
        run(graph, given(values, x)).reduce((sum, y, i) => sum + y * ct[i]!, 0);
      const slope = (f: (step: number) => number): number => (f(1e-5) - f(-1e-5)) / 2e-5;
      const shifted = (all: readonly number[], i: number, by: number) => all.with(i, all[i]! + by);
      // Conjugate gradients want a symmetric matrix: both places of a number move, and their gradients add up.
      const pairs = [[0], [1, 2], [3], [4, 6], [5], [7]];
      const byValue = pairs.map((places) =>
        slope((h) =>
          value(
            places.reduce((all, i) => shifted(all, i, h), VALUES as readonly number[]),
            VECTOR,
          ),
        ),
      );
      const made = outputs["gradient.values"]!.data;
      close(
        pairs.map((places) => places.reduce((sum, i) => sum + made[i]!, 0)),
        byValue,
        1e-7,
      );
      const byX = VECTOR.map((_, i) => slope((h) => value(VALUES, shifted(VECTOR, i, h))));
      close([...outputs["gradient.x"]!.data], byX, 1e-7);
    },
  );

  it.each([
    [
      "a column outside",
      given(VALUES, VECTOR, hostTensor("i32", [8], [0, 1, 0, 1, 4, 2, 1, 3])),
      "got 4, expected 0..3",
    ],
    ["offsets that fall", given(VALUES, VECTOR, COLUMNS, hostTensor("i32", [5], [0, 5, 2, 6, 8])), "rise from 0 to 8"],
    [
      "offsets that end early",
      given(VALUES, VECTOR, COLUMNS, hostTensor("i32", [5], [0, 2, 5, 6, 7])),
      "rise from 0 to 8",
    ],
  ])("%s are refused by name", (_, inputs, told) => {
    expect(() => run(graphOf("csr_matvec"), inputs)).toThrow(
      expect.objectContaining({ code: "RUN_FAILED", message: expect.stringContaining(told) as string }),
    );
  });

  it("conjugate gradients refuse a matrix that is not positive", () => {
    expect(() => run(graphOf("csr_conjugate_gradient"), given([-4, 1, 1, -5, -2, -3, -2, -6], VECTOR))).toThrow(
      expect.objectContaining({ code: "RUN_FAILED", hint: expect.stringContaining("csr_solve") as string }),
    );
  });
});
