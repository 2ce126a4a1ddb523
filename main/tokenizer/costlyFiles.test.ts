/**
 * Files that are made to cost: each opens or is refused, and a text is read with it, within 1 s of
 * work and 256 MiB.
 */
import { describe, expect, it } from "vitest";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { memorySource } from "../formats/byteSource.ts";
import { describeFile } from "../formats/gguf/describe.ts";
import { numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { encodeHeader } from "../formats/gguf/write.ts";
import { collectGarbage } from "../testing/collectGarbage.ts";
import { collidingTexts } from "../testing/collidingTexts.ts";
import { peakGrowth } from "../testing/peakMemory.ts";
import { createTokenizer, tokenizerRefusal } from "./tokenizer.ts";

interface Costly {
  readonly file: () => readonly MetadataEntry[];
  /** How it ends; undefined when it opens and reads texts. */
  readonly code?: string;
  readonly text?: string;
}

const key = (name: string): string => `tokenizer.ggml.${name}`;
const vocabulary = (tokens: readonly string[], kind: number, merges: readonly string[] = []): MetadataEntry[] => [
  stringEntry(key("model"), "gpt2"),
  stringEntry(key("pre"), "gpt-2"),
  stringsEntry(key("tokens"), tokens),
  numbersEntry(
    key("token_type"),
    "i32",
    tokens.map(() => kind),
  ),
  stringsEntry(key("merges"), merges),
];
const NORMAL = 1;
const CONTROL = 3;
const manyTexts = (count: number, text: (i: number) => string): string[] =>
  Array.from({ length: count }, (_, i) => text(i));

/** An array of empty arrays, as it lies in a file. */
function nested(name: string, count: number): MetadataEntry {
  const raw = new Uint8Array(12 + count * 12);
  const view = new DataView(raw.buffer);
  view.setUint32(0, 9, true);
  view.setUint32(4, count, true);
  for (let i = 0; i < count; i++) view.setUint32(12 + i * 12, 4, true);
  return { key: name, type: "array", raw, value: { kind: "arrays", items: [] } };
}

const bytes = (name: string, count: number): MetadataEntry => ({
  ...numbersEntry(name, "u8", []),
  raw: (() => {
    const raw = new Uint8Array(12 + count);
    new DataView(raw.buffer).setUint32(4, count, true);
    return raw;
  })(),
});

const FILES: Readonly<Record<string, Costly>> = {
  "40 keys of 10 000 nested arrays (4.8 MB)": {
    file: () => manyTexts(40, (i) => `k${i}`).map((name) => nested(name, 10_000)),
    code: "INPUT_LIMIT",
  },
  "480 keys of 10 000 nested arrays (58 MB)": {
    file: () => manyTexts(480, (i) => `k${i}`).map((name) => nested(name, 10_000)),
    code: "INPUT_LIMIT",
  },
  "15 keys of 4 MB": { file: () => manyTexts(15, (i) => `k${i}`).map((name) => bytes(name, 4 << 20)), code: "none" },
  "32 768 tokens that collide without a key": {
    file: () => vocabulary([...collidingTexts(15), "a"], NORMAL),
    text: "a".repeat(100_000),
  },
  "32 768 merges that collide without a key": {
    file: () =>
      vocabulary(
        ["a", "b"],
        NORMAL,
        collidingTexts(15).map((text) => `${text} a`),
      ),
    text: "ab".repeat(50_000),
  },
  "1.5 MB of control tokens": {
    file: () =>
      vocabulary(
        manyTexts(100_000, (i) => `<|token ${i}|>`),
        CONTROL,
      ),
    code: "INPUT_LIMIT",
  },
  "0.9 MB of control tokens, and a text of their beginnings": {
    file: () =>
      vocabulary(
        manyTexts(90_000, (i) => `<|${i}|>`),
        CONTROL,
      ),
    text: "<|12345".repeat(20_000),
  },
  "0.9 MB of control tokens that begin with each other": {
    file: () =>
      vocabulary(
        manyTexts(1300, (i) => "a".repeat(i + 1)),
        CONTROL,
      ),
    text: `${"a".repeat(1299)}b`.repeat(100),
  },
  "a million empty tokens": {
    file: () =>
      vocabulary(
        manyTexts(2 ** 20 + 1, () => ""),
        NORMAL,
      ),
    code: "INPUT_LIMIT",
  },
};

/** What a person does with a file: looks at it, and gives it a text to read. */
async function use(file: Uint8Array, text: string): Promise<string | undefined> {
  try {
    const opened = await openGguf(memorySource("costly.gguf", file));
    describeFile(opened);
    const refusal = tokenizerRefusal(opened);
    if (refusal !== undefined) throw refusal;
    const tokenizer = createTokenizer(opened);
    tokenizer.decode(tokenizer.encode(text));
    return undefined;
  } catch (error) {
    if (error instanceof WorkbenchError) return error.code === "UNSUPPORTED_TOKENIZER" ? "none" : error.code;
    throw error;
  }
}

describe("a file that is made to cost", () => {
  it.each(Object.entries(FILES))("%s", { timeout: 60_000 }, async (_, { file, code, text = "a text" }) => {
    const made = encodeHeader({ entries: file(), tensors: [] }).bytes;
    collectGarbage();
    const growth = peakGrowth();
    const start = process.cpuUsage();
    expect(await use(made, text)).toBe(code);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1e6).toBeLessThan(1);
    expect(growth()).toBeLessThan(256 << 20);
  });
});
