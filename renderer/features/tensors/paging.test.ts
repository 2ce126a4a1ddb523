import { expect, it } from "vitest";
import { fitting, FIRST, matrixOf, moved, within } from "./paging.ts";

const size = { rows: 10, columns: 4 };
const shape = [3, 25, 9];

it("keeps the page inside of the tensor, full where that is possible", () => {
  expect(matrixOf(shape)).toEqual({ matrices: 3, height: 25, width: 9 });
  expect(matrixOf([256])).toEqual({ matrices: 1, height: 1, width: 256 });
  expect(within({ matrix: 7, row: 24, column: 99 }, size, shape)).toEqual({ matrix: 2, row: 15, column: 5 });
  expect(within({ matrix: 0, row: -3, column: 2 }, size, [256])).toEqual({ matrix: 0, row: 0, column: 2 });
});

it("moves by keys: a value, a page, to an edge, to a corner", () => {
  const at = { matrix: 1, row: 12, column: 4 };
  const go = (key: string, isFar = false) => moved(at, size, key, isFar);
  expect(go("ArrowDown")).toEqual({ ...at, row: 13 });
  expect(go("ArrowLeft", true)).toEqual({ ...at, column: 0 });
  expect(go("PageUp")).toEqual({ ...at, row: 2 });
  expect(go("Home", true)).toEqual({ ...FIRST, matrix: 1 });
  expect(within(go("End", true)!, size, shape)).toEqual({ matrix: 1, row: 15, column: 5 });
  expect(go("a")).toBeNull();
});

it("has as many rows and columns as fit, and one at least", () => {
  expect(fitting(76 + 82 * 5 + 3, 26 + 22 * 8)).toEqual({ rows: 8, columns: 5 });
  expect(fitting(10, 10)).toEqual({ rows: 1, columns: 1 });
});
