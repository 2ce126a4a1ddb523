/** What happens to tensors on their way from safetensors to a GGUF: rows in another order, halves, a norm raised by 1. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { mapped, rowsFrom, transposed, withDims, withoutOnes } from "../tensorBytes.ts";
import { headsOf, kvHeadsOf } from "./keys.ts";
import type { HfConfig } from "./keys.ts";
import type { Target } from "./parts.ts";

export function changed(tensor: TensorBytes, change: Target["change"], config: HfConfig): TensorBytes {
  if (typeof change === "function") return change(tensor, config);
  switch (change) {
    case undefined:
      return tensor;
    case "q rope":
      return interleaved(tensor, headsOf(config), config);
    case "k rope":
      return interleaved(tensor, kvHeadsOf(config), config);
    case "split heads":
      return splitHeads(tensor, config);
    case "plus one":
      return mapped(tensor, (value) => Math.fround(value + 1));
    case "transpose":
      return tensor.dims.length > 1 ? transposed(tensor) : tensor;
    case "without ones":
      return withoutOnes(tensor);
    case "first half":
      return half(tensor, 0);
    case "second half":
      return half(tensor, 1);
  }
}

function splitHeads(tensor: TensorBytes, config: HfConfig): TensorBytes {
  const [heads, groups, rows] = [headsOf(config), kvHeadsOf(config), tensor.dims.at(-1) ?? 0];
  const size = rows / (heads + 2 * groups);
  if (!Number.isInteger(size) || heads % groups !== 0) throw wrongRows(config, rows, heads);
  const each = heads / groups;
  return rowsOf(tensor, (row) => {
    const head = Math.floor(row / size);
    const [group, place] =
      head < heads
        ? [Math.floor(head / each), head % each]
        : [(head - heads) % groups, each + Math.floor((head - heads) / groups)];
    return (group * (each + 2) + place) * size + (row % size);
  });
}

/** Row 2j + s of a head was row s · size/2 + j: rope turns neighbours instead of halves. */
function interleaved(tensor: TensorBytes, heads: number, config: HfConfig): TensorBytes {
  const rows = tensor.dims.at(-1) ?? 0;
  const size = rows / heads;
  if (!Number.isInteger(size) || size % 2 !== 0) throw wrongRows(config, rows, heads);
  return rowsOf(tensor, (row) => {
    const inside = row % size;
    return row - inside + (inside % 2) * (size / 2) + (inside >> 1);
  });
}

/** The numbers of a bias are its rows. */
function rowsOf(tensor: TensorBytes, from: (row: number) => number): TensorBytes {
  const [rows = 0] = tensor.dims;
  return tensor.dims.length === 1
    ? withDims(rowsFrom(withDims(tensor, [1, rows]), from), [rows])
    : rowsFrom(tensor, from);
}

const wrongRows = (config: HfConfig, rows: number, heads: number): WorkbenchError =>
  new WorkbenchError(
    "INPUT_MALFORMED",
    `[${config.name}] a matrix of attention has ${rows} rows: expected an even number for each of ${heads} heads`,
    { hint: "config.json and the weights belong to different models." },
  );

/** Half of the rows of each matrix. */
export function half(tensor: TensorBytes, which: 0 | 1): TensorBytes {
  const [columns = 1, rows = 1, ...rest] = tensor.dims;
  const count = rows / 2;
  return rowsFrom(tensor, (row) => Math.floor(row / count) * rows + which * count + (row % count), [
    columns,
    count,
    ...rest,
  ]);
}
