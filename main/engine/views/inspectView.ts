/** Pages of a file's keys and tensors: filtered and sorted here, so that the window never holds them all. */
import type {
  BlockRun,
  FileBlocks,
  MetadataPage,
  MetadataValue as MetadataValueView,
  TensorPage,
  TensorRow,
} from "../../contract/views/model.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { blockRuns } from "../../formats/gguf/blocks.ts";
import type { GgufFile, GgufTensor } from "../../formats/gguf/file.ts";
import { arrayLength, describeKind, elementText, previewValue } from "../../formats/gguf/metadata.ts";

interface Page {
  readonly offset: number;
  readonly limit: number;
}

const PREVIEW = 160;
/** Long texts (chat templates) cross in pieces of this many characters. */
const PIECE = 16_384;

export function metadataPage(file: GgufFile, query: string, page: Page): MetadataPage {
  const wanted = query.trim().toLowerCase();
  const entries = file.metadata.entries;
  const matching =
    wanted === ""
      ? entries
      : entries.filter(
          (e) => e.key.toLowerCase().includes(wanted) || previewValue(e.value, PREVIEW).toLowerCase().includes(wanted),
        );
  return {
    total: entries.length,
    matched: matching.length,
    rows: matching.slice(page.offset, page.offset + page.limit).map(({ key, value }) => {
      const preview = previewValue(value, PREVIEW);
      return {
        key,
        type: describeKind(value),
        count: arrayLength(value) ?? null,
        preview,
        whole: !preview.endsWith("…"),
      };
    }),
  };
}

export function metadataValue(file: GgufFile, key: string, page: Page): MetadataValueView {
  const value = file.metadata.get(key);
  if (!value)
    throw new WorkbenchError("INPUT_MISSING_KEY", `[${file.name}] the key ${JSON.stringify(key)} is not in this file`, {
      hint: "Look the keys up with `rlx inspect FILE --metadata`.",
    });
  const count = arrayLength(value);
  const base = { key, type: describeKind(value), offset: page.offset };
  if (count !== undefined) {
    const items: string[] = [];
    for (let i = page.offset; i < Math.min(count, page.offset + page.limit); i++) items.push(elementText(value, i));
    return { ...base, total: count, items };
  }
  const text = elementText(value, 0);
  const pieces = Array.from({ length: Math.max(1, Math.ceil(text.length / PIECE)) }, (_, i) =>
    text.slice(i * PIECE, (i + 1) * PIECE),
  );
  return { ...base, total: pieces.length, items: pieces.slice(page.offset, page.offset + page.limit) };
}

const LAYER = /^blk\.(\d+)\.(.+)$/;

export function tensorRow(tensor: GgufTensor): TensorRow {
  const match = LAYER.exec(tensor.name);
  return {
    name: tensor.name,
    shape: tensor.shape,
    type: tensor.type.name.toUpperCase(),
    parameters: tensor.elements,
    bytes: tensor.byteLength,
    bitsPerWeight: (tensor.byteLength * 8) / tensor.elements,
    layer: match ? Number(match[1]) : null,
    role: (match?.[2] ?? tensor.name).replace(/\.(weight|bias)$/, ""),
    part: tensor.part,
    offset: tensor.offset,
  };
}

/** Rows of the picture of a file: what a window can still show at once. */
const MOST_ROWS = 2000;

export function fileBlocks(file: GgufFile): FileBlocks {
  let room = MOST_ROWS;
  let more = 0;
  const runs: BlockRun[] = [];
  for (const { roles, ...run } of blockRuns(file.tensors)) {
    const shown = roles.slice(0, room);
    room -= shown.length;
    more += roles.length - shown.length;
    if (shown.length > 0) runs.push({ ...run, roles: shown.map((role) => ({ ...role, shape: [...role.shape] })) });
  }
  return { runs, more };
}

type Sort = "file" | "name" | "type" | "parameters" | "bytes" | "layer";
const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const ORDERS: Readonly<Record<Exclude<Sort, "file">, (a: TensorRow, b: TensorRow) => number>> = {
  name: (a, b) => text(a.name, b.name),
  type: (a, b) => text(a.type, b.type) || text(a.name, b.name),
  parameters: (a, b) => a.parameters - b.parameters,
  bytes: (a, b) => a.bytes - b.bytes,
  layer: (a, b) => (a.layer ?? -1) - (b.layer ?? -1) || text(a.role, b.role),
};

/** Each must occur in the name, the type or the shape. "layer 3" and "block 3" are what files call "blk.3.". */
function tensorWords(query: string): readonly string[] {
  const named = query.toLowerCase().replace(/\b(?:layer|block)[ :]+(\d+)(?!\S)/g, "blk.$1.");
  return named.split(/\s+/).filter((word) => word !== "");
}

export function tensorPage(
  file: GgufFile,
  options: Page & { readonly query: string; readonly sort: Sort; readonly descending: boolean },
): TensorPage {
  const wanted = tensorWords(options.query);
  const matching = file.tensors.filter(({ name, type, shape }) => {
    const columns = `${name.toLowerCase()} ${type.name} ${shape.join("×")}`;
    return wanted.every((word) => columns.includes(word));
  });
  const rows = matching.map(tensorRow);
  if (options.sort !== "file") rows.sort(ORDERS[options.sort]);
  if (options.descending) rows.reverse();
  return {
    total: file.tensors.length,
    matched: rows.length,
    matchedBytes: matching.reduce((sum, t) => sum + t.byteLength, 0),
    rows: rows.slice(options.offset, options.offset + options.limit),
  };
}
