/** Moving a window over the values of a tensor: how large it is, and where the keys take it. */
export interface Corner {
  /** The expert, in tensors of experts. */
  readonly matrix: number;
  readonly row: number;
  readonly column: number;
}
export interface PageSize {
  readonly rows: number;
  readonly columns: number;
}

export const FIRST: Corner = { matrix: 0, row: 0, column: 0 };

/** Of a row-major shape. */
export function matrixOf(shape: readonly number[]): {
  readonly matrices: number;
  readonly height: number;
  readonly width: number;
} {
  return {
    matrices: shape.slice(0, -2).reduce((product, size) => product * size, 1),
    height: shape.at(-2) ?? 1,
    width: shape.at(-1) ?? 1,
  };
}

const clamp = (value: number, most: number): number => Math.max(0, Math.min(value, most));

/** The nearest corner whose page lies in the tensor, full where the tensor is large enough. */
export function within(corner: Corner, { rows, columns }: PageSize, shape: readonly number[]): Corner {
  const { matrices, height, width } = matrixOf(shape);
  return {
    matrix: clamp(corner.matrix, matrices - 1),
    row: clamp(corner.row, height - rows),
    column: clamp(corner.column, width - columns),
  };
}

const END = Number.MAX_SAFE_INTEGER;

/** Where a key takes the page; null for a key that does not move it. */
export function moved(corner: Corner, { rows, columns }: PageSize, key: string, isFar: boolean): Corner | null {
  const { row, column } = corner;
  switch (key) {
    case "ArrowUp":
      return { ...corner, row: row - 1 };
    case "ArrowDown":
      return { ...corner, row: row + 1 };
    case "ArrowLeft":
      return { ...corner, column: column - (isFar ? columns : 1) };
    case "ArrowRight":
      return { ...corner, column: column + (isFar ? columns : 1) };
    case "PageUp":
      return { ...corner, row: row - rows };
    case "PageDown":
      return { ...corner, row: row + rows };
    case "Home":
      return { ...corner, column: 0, row: isFar ? 0 : row };
    case "End":
      return { ...corner, column: END, row: isFar ? END : row };
    default:
      return null;
  }
}

/** What fits into a box. */
export function fitting(width: number, height: number): PageSize {
  return {
    rows: Math.max(1, Math.min(256, Math.floor((height - HEAD) / ROW))),
    columns: Math.max(1, Math.min(64, Math.floor((width - LABEL) / CELL))),
  };
}

/** Pixels of a row, the head, a column, and the numbers of rows; as Values.module.css has them. */
const ROW = 22;
const HEAD = 26;
const CELL = 82;
const LABEL = 76;
