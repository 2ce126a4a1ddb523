/**
 * Sparse matrices for graphs, as functions of the op `custom`: product with a vector, solving, conjugate gradients. A graph
 * calls them by name once they are registered; all have gradients for the stored numbers and the vector.
 */
import type { Value } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { formatType, tensor } from "../../../ir/type.ts";
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { OpBuilder } from "../../opBuilder.ts";
import type { CustomKernel } from "../../signal/customKernels.ts";
import { registerCustomKernel } from "../../signal/customKernels.ts";
import { scalarLike } from "../constants.ts";
import type { Csr } from "./csr.ts";
import { checkColumns, conjugateGradients, csrOf, multiply, rowsOf, solve } from "./csr.ts";

const square = (name: string, { rows }: Csr, x: HostTensor): void => {
  if (x.data.length !== rows)
    throw new WorkbenchError(
      "RUN_FAILED",
      `[${name}] vector: got ${formatType(x)}, expected ${rows} numbers, one a row`,
      {
        hint: "Only a square matrix has one solution.",
      },
    );
};

/** What a kernel works out of a matrix and a vector. */
const over =
  (name: string, work: (matrix: Csr, x: HostTensor) => Float64Array): CustomKernel["run"] =>
  (inputs) => {
    const { matrix, x } = csrOf(name, inputs);
    checkColumns(name, matrix, x.data.length);
    const data = work(matrix, x);
    return [hostTensor(x.dtype, [data.length], data)];
  };

const one = (g: OpBuilder, inputs: readonly Value[], name: string, output: string): Value => {
  const [made] = g.custom(inputs, { name, outputs: [output] });
  if (made === undefined) throw new WorkbenchError("BUG_INVARIANT", `[${name}] gave nothing`);
  return made;
};

/** For each stored number: of two vectors, that of its row times that of its column. */
function alongStored(g: OpBuilder, [values, columns, offsets, x]: Stored, ofRow: Value, ofColumn: Value): Value {
  const { shape } = g.typeOf(values);
  const rows = one(g, [values, columns, offsets, x], "csr_rows", formatType(tensor("i32", shape)));
  return g.mul([g.gather([ofRow, rows], { axis: 0 }), g.gather([ofColumn, columns], { axis: 0 })]);
}

type Stored = readonly [values: Value, columns: Value, offsets: Value, x: Value];
const storedOf = (inputs: readonly Value[]): Stored | undefined => {
  const [values, columns, offsets, x] = inputs;
  return values && columns && offsets && x ? [values, columns, offsets, x] : undefined;
};

/** x = A⁻¹ b: b gets g = A⁻ᵀ ct, each stored number -g of its row times x of its column. */
const solverVjp =
  (back: string, flip: boolean): NonNullable<CustomKernel["vjp"]> =>
  (g, inputs, [x], [ct]) => {
    const stored = storedOf(inputs);
    if (!stored || !x || !ct) return inputs.map(() => undefined);
    const [values, columns, offsets] = stored;
    const grad = one(g, [values, columns, offsets, ct], back, formatType(g.typeOf(ct)));
    const product = flip ? alongStored(g, stored, x, grad) : alongStored(g, stored, grad, x);
    return [g.mul([product, scalarLike(g, product, -1)]), undefined, undefined, grad];
  };

const solver = (name: string, back: string, flip: boolean): CustomKernel => ({
  summary: `x with ${flip ? "Aᵀ" : "A"} x = b, of (values, columns, offsets, b); NaN where A is singular or not finite`,
  run: over(name, (matrix, b) => {
    square(name, matrix, b);
    return solve(matrix, b.data, flip);
  }),
  vjp: solverVjp(back, flip),
});

export const SPARSE_KERNELS: Readonly<Record<string, CustomKernel>> = {
  csr_matvec: {
    summary: "A x, of (values, columns, offsets, x)",
    run: over("csr_matvec", (matrix, x) => multiply(matrix, x.data)),
    vjp: (g, inputs, _outputs, [ct]) => {
      const stored = storedOf(inputs);
      if (!stored || !ct) return inputs.map(() => undefined);
      const [values, columns, , x] = stored;
      const ones = g.expand([scalarLike(g, x, 1)], { shape: g.typeOf(x).shape });
      const spread = g.mul([values, alongStored(g, stored, ct, ones)]);
      const grad = g.scatter_add([spread, columns], { axis: 0, size: g.typeOf(x).shape[0] ?? 1 });
      return [alongStored(g, stored, ct, x), undefined, undefined, grad];
    },
  },
  csr_rows: {
    summary: "the row of each stored number, of (values, columns, offsets, x)",
    run: (inputs) => {
      const { matrix } = csrOf("csr_rows", inputs);
      return [hostTensor("i32", [matrix.values.length], rowsOf(matrix))];
    },
  },
  csr_solve: solver("csr_solve", "csr_solve_transposed", false),
  csr_solve_transposed: solver("csr_solve_transposed", "csr_solve", true),
  csr_conjugate_gradient: {
    summary: "x with A x = b for a symmetric positive A, of (values, columns, offsets, b)",
    run: over("csr_conjugate_gradient", (matrix, b) => {
      square("csr_conjugate_gradient", matrix, b);
      return conjugateGradients("csr_conjugate_gradient", matrix, b.data);
    }),
    vjp: solverVjp("csr_conjugate_gradient", false),
  },
};

/** Makes them known by their names. Returns the function that removes them. */
export function registerSparseKernels(): () => void {
  const undo = Object.entries(SPARSE_KERNELS).map(([name, kernel]) => registerCustomKernel(name, kernel));
  return () => {
    for (const remove of undo) remove();
  };
}
