/** Linear regression: the smallest training there is. Its own data are eight points of a plane without noise. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { isComplex } from "../data/npy.ts";
import { batches, heldOut } from "../data/order.ts";
import { net } from "./netParts.ts";
import type { Inputs, Recipe, RecipeData } from "./recipe.ts";

const TRUTH = [0.5, -1, 2] as const;
const POINTS = 8;

interface Points {
  readonly x: ArrayLike<number>;
  readonly target: ArrayLike<number>;
  readonly rows: number;
  readonly columns: number;
}

/** x[i] = ((7 i + 1) mod 11) / 11 − 0.5 row by row; target = x · TRUTH. */
function ownPoints(): Points {
  const columns = TRUTH.length;
  const x = Float32Array.from({ length: POINTS * columns }, (_, i) => ((7 * i + 1) % 11) / 11 - 0.5);
  const target = Float32Array.from({ length: POINTS }, (_, row) =>
    TRUTH.reduce((sum, weight, column) => sum + weight * (x[row * columns + column] ?? 0), 0),
  );
  return { x, target, rows: POINTS, columns };
}

function pointsOf(data: RecipeData | undefined): Points {
  if (data === undefined) return ownPoints();
  const [x, target] = data.kind === "arrays" ? [data.arrays.get("x"), data.arrays.get("target")] : [];
  const [rows = 0, columns = 0] = x?.shape ?? [];
  const fits = x?.shape.length === 2 && x.data.length === rows * columns && target?.data.length === rows;
  if (x === undefined || target === undefined || rows * columns === 0 || !fits)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${data.name}] arrays: got ${shapesIn(data)}, expected x[rows,columns] and target[rows]`,
      { hint: "Save them with numpy.savez(path, x=…, target=…)." },
    );
  return { x: x.data, target: target.data, rows, columns };
}

export const shapesIn = (data: RecipeData): string =>
  data.kind === "text"
    ? "a text"
    : [...data.arrays]
        .slice(0, 8)
        .map(
          ([name, array]) =>
            `${name.slice(0, 40)}[${array.shape.join(",")}]${isComplex(array) ? " of complex numbers" : ""}`,
        )
        .join(", ");

/** Squares of what is missing, summed or averaged. */
const graphOf = (rows: number, columns: number, kind: "sum" | "mean"): Graph =>
  net("linear regression", ({ g, input, output }) => {
    const product = g.matmul([input("x", `f32[${rows},${columns}]`), input("W", `f32[${columns},1]`)]);
    const off = g.sub([product, input("target", `f32[${rows},1]`)]);
    output("loss", g.reduce([g.mul([off, off])], { kind, axes: [0, 1] }));
  });

const rowsOf = ({ x, target, columns }: Points, rows: readonly number[]): Inputs => ({
  x: Float32Array.from(rows.flatMap((row) => Array.from({ length: columns }, (_, i) => x[row * columns + i] ?? 0))),
  target: Float32Array.from(rows, (row) => target[row] ?? 0),
});

export const linearRecipe: Recipe = {
  id: "linear",
  title: "Linear regression",
  about: "Finds the weights of a plane by gradient descent: done in a blink, and easy to check.",
  needs: "nothing",
  resultEnding: "safetensors",
  dataEndings: ["npz"],
  dataSentence: "An .npz file with x[rows,columns] and target[rows]. Its own data are eight points without noise.",
  fields: [
    {
      id: "loss",
      label: "Loss",
      about: "Squares of the errors, summed over the batch or averaged.",
      kind: "choice",
      value: "sum",
      choices: ["sum", "mean"],
    },
  ],
  defaults: {
    steps: 200,
    batch: POINTS,
    optimizer: { name: "sgd", options: {} },
    lr: 0.2,
    schedule: { kind: "constant", warmUp: 0 },
    clipNorm: null,
    validationEvery: 0,
    validationShare: 0.1,
    sample: null,
    normsEvery: 20,
  },
  prepare({ fields, data, batch, seed, share }) {
    const points = pointsOf(data);
    const { rows, columns } = points;
    const kept = heldOut(rows, data === undefined ? 0 : share);
    const take = batches(rows - kept, batch, seed);
    const held = Array.from({ length: kept }, (_, i) => rows - kept + i);
    return Promise.resolve({
      forward: graphOf(batch, columns, fields["loss"] === "mean" ? "mean" : "sum"),
      trainable: ["W"],
      initial: { W: new Float32Array(columns) },
      parameters: columns,
      data: `${rows} points of ${columns} numbers${kept === 0 ? "" : `, ${kept} of them for validation`}`,
      batch: (step) => rowsOf(points, take(step)),
      ...(kept === 0
        ? {}
        : {
            validation: {
              graph: graphOf(kept, columns, "mean"),
              hasAnswers: false,
              batches: [rowsOf(points, held)],
            },
          }),
      metadata: {},
    });
  },
};
