/** Matrices for samples: a strong diagonal, and those that have no answer. */
import type { Shape } from "../../../ir/dim.ts";
import type { NoAttrs } from "../../../ir/attributes.ts";
import type { Sample, SampleInput } from "../../defineOp.ts";
import { normal, sample, values, withDoubles } from "../samples.ts";

/** Small numbers and a large diagonal; symbols are bound to `size`. */
export function strong(salt: number, shape: Shape, size = 3): SampleInput {
  const sizes = shape.map((dim) => (typeof dim === "number" ? dim : size));
  const [rows = 1, columns = 1] = sizes.slice(-2);
  const count = sizes.reduce((a, b) => a * b, 1);
  const data = Array.from({ length: count }, (_, i) => {
    const isDiagonal = Math.floor(i / columns) % rows === i % columns;
    return Math.fround(0.7 * Math.sin(salt + 3.7 * i) + (isDiagonal ? 3 + (i % columns) : 0));
  });
  return values(data, shape);
}

/** A singular matrix, one with a NaN, one with an infinity, and one that is as it should be. */
export const HOPELESS: SampleInput = values(
  [...[1, 2, 2, 4], ...[1, 0, NaN, 1], ...[Infinity, 0, 0, 1], ...[2, 1, 1, 3]],
  [4, 2, 2],
);

/** For functions of a square matrix that give numbers. */
export const SQUARE_SAMPLES: readonly Sample<NoAttrs>[] = withDoubles([
  sample("odd size", [normal(1, [3, 3])], {}),
  sample("a batch", [strong(2, [2, 1, 5, 5])], {}),
  sample("symbolic", [strong(3, ["T", "T"])], {}, { bindings: { T: 3 } }),
  sample("singular, not finite", [HOPELESS], {}, { differentiable: false }),
  sample("no rows", [values([], [2, 0, 0])], {}),
]);
