/** Pages of a file's keys: filtered here, so that the window never holds them all. And the blocks of a file. */
import type {
  BlockRun,
  FileBlocks,
  MetadataPage,
  MetadataValue as MetadataValueView,
} from "../../contract/views/model.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { blockRuns } from "../../formats/gguf/blocks.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
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
