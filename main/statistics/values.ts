/** A page of a tensor's values: a window of rows and columns of one matrix, unpacked. Only its blocks are read. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { elementOf } from "./scan.ts";
import { unpack } from "./unpack.ts";

export interface PageChoice {
  /** Of the matrices of a tensor with more than two dimensions: the expert. */
  readonly matrix: number;
  readonly row: number;
  readonly column: number;
  /** At most; the edges of the tensor make it less. */
  readonly rows: number;
  readonly columns: number;
  readonly signal?: AbortSignal | undefined;
}

export interface PageOfValues {
  /** Of the whole tensor. */
  readonly matrices: number;
  readonly height: number;
  readonly width: number;
  /** Of this page. */
  readonly rows: number;
  readonly columns: number;
  /** Row after row. */
  readonly values: Float64Array;
}

/** Rows that are read at once. */
const TOGETHER = 32;

export async function pageOfValues(file: GgufFile, tensor: GgufTensor, choice: PageChoice): Promise<PageOfValues> {
  const type = elementOf(tensor);
  const [width = 1, height = 1, ...rest] = tensor.dims;
  const matrices = rest.reduce((product, size) => product * size, 1);
  inside(tensor, "matrix", choice.matrix, matrices);
  inside(tensor, "row", choice.row, height);
  inside(tensor, "column", choice.column, width);
  const rows = Math.min(choice.rows, height - choice.row);
  const columns = Math.min(choice.columns, width - choice.column);
  const { blockSize, blockBytes } = tensor.type;
  const firstBlock = Math.floor(choice.column / blockSize);
  const blocks = Math.ceil((choice.column + columns) / blockSize) - firstBlock;
  const rowBytes = (width / blockSize) * blockBytes;
  const values = new Float64Array(rows * columns);
  const readRow = async (row: number): Promise<void> => {
    const at = (choice.matrix * height + choice.row + row) * rowBytes + firstBlock * blockBytes;
    const bytes = await file.readTensor(tensor, { offset: at, length: blocks * blockBytes, signal: choice.signal });
    const from = choice.column - firstBlock * blockSize;
    values.set(unpack(type, bytes).subarray(from, from + columns), row * columns);
  };
  for (let row = 0; row < rows; row += TOGETHER)
    await Promise.all(Array.from({ length: Math.min(TOGETHER, rows - row) }, (_, i) => readRow(row + i)));
  return { matrices, height, width, rows, columns, values };
}

function inside({ name }: GgufTensor, what: string, value: number, size: number): void {
  if (Number.isInteger(value) && value >= 0 && value < size) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[values] ${what} of ${name}: got ${value}, expected ${size === 1 ? "0" : `0 to ${size - 1}`}`,
  );
}
