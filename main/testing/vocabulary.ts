/** Vocabulary files for tests, made from the shared ones, and texts that are hard to tokenise. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memorySink } from "../formats/byteSink.ts";
import { memorySource } from "../formats/byteSource.ts";
import { withEntries } from "../formats/gguf/encode.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { contentsOf, encodeHeader, writeGguf } from "../formats/gguf/write.ts";
import type { Random } from "./random.ts";
import { sharedFile } from "./sharedData.ts";

export const openShared = async (name: string): Promise<GgufFile> =>
  openGguf(memorySource(name, new Uint8Array(await readFile(sharedFile(name)))));

/** Files in a folder that is removed by `done`. */
export class VocabularyFolder {
  #folder: string | undefined;

  /** A copy of a file with other keys (undefined leaves one out). */
  async variant(
    original: GgufFile,
    name: string,
    changes: Readonly<Record<string, MetadataEntry | undefined>>,
  ): Promise<{ readonly path: string; readonly file: GgufFile }> {
    const sink = memorySink();
    await writeGguf(sink, contentsOf(original, withEntries(original.metadata.entries, changes)));
    return this.#write(name, sink.bytes());
  }

  /** A file of these keys and no tensor. */
  async make(
    name: string,
    entries: readonly MetadataEntry[],
  ): Promise<{ readonly path: string; readonly file: GgufFile }> {
    return this.#write(name, encodeHeader({ entries, tensors: [] }).bytes);
  }

  async #write(name: string, bytes: Uint8Array): Promise<{ readonly path: string; readonly file: GgufFile }> {
    this.#folder ??= await mkdtemp(join(tmpdir(), "rlx-vocabulary-"));
    const path = join(this.#folder, name);
    await writeFile(path, bytes);
    return { path, file: await openGguf(memorySource(name, bytes)) };
  }

  async done(): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }
}

const SCRIPTS: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0xa0, 0x24f],
  [0x370, 0x3ff],
  [0x400, 0x52f],
  [0x590, 0x6ff],
  [0x900, 0xdff],
  [0xe00, 0xeff],
  [0x1100, 0x11ff],
  [0x2000, 0x2bff],
  [0x3040, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xe000, 0xf8ff],
  [0xfb00, 0xffff],
  [0x10000, 0x1ffff],
  [0x1f300, 0x1faff],
  [0x20000, 0x3ffff],
  [0xe0000, 0xe01ef],
];
const SNIPPETS = [
  "'s",
  "'S",
  "'re",
  "'LL",
  "'ve",
  "'d",
  "'M",
  "'T",
  "’s",
  "don't",
  "I'll",
  "WE'RE",
  "'",
  " ",
  "  ",
  "   ",
  "\n",
  "\r\n",
  "\n\n",
  " \n",
  "\t",
  "\t\t",
  " \t ",
  "\v",
  "\f",
  "\r",
  "\u0085",
  "\u00a0",
  "\u2003",
  "\u3000",
  "\u200b",
  "\ufeff",
  "0",
  "12",
  "123",
  "1234",
  "3.14",
  "1,000,000",
  "²³",
  "٣٤",
  "Ⅷ",
  "½",
  "१२३",
  "hello",
  "Hello",
  "HELLO",
  "camelCase",
  "XMLHttp",
  "snake_case",
  "naïve",
  "Straße",
  "привет",
  "你好世界",
  "こんにちは",
  "안녕하세요",
  "שלום",
  "مرحبا",
  "नमस्ते",
  "👍",
  "👩‍👩‍👧‍👦",
  "🏳️‍🌈",
  "e\u0301",
  "ﬁ",
  "Ǆ",
  "İ",
  "ſ",
  "K",
  "!",
  "?!",
  "...",
  "--",
  "=>",
  "<=",
  "&&",
  "$",
  "~",
  "`",
  "^",
  "|",
  "©",
  "™",
  "«",
  "»",
  "、",
  "。",
  "…",
  "/",
  "\\",
  "{}",
  "[]",
  "#include <a.h>",
  "<s>",
  "</s>",
  "<unk>",
  "<|endoftext|>",
  "<|im_start|>",
  "<|im_end|>",
  "<0x0A>",
  "▁",
  "Ġ",
  "\0",
  "\u0001",
  "\u007f",
  "\u0080",
];

/** A random text: many scripts, white space, digits, contractions, control characters, special tokens. */
export function hardText(random: Random, more: readonly string[] = []): string {
  let text = "";
  const pieces = random.integer(12);
  for (let i = 0; i < pieces; i++) {
    const choice = random.next();
    if (choice < 0.45) text += random.pick(SNIPPETS);
    else if (choice < 0.5 && more.length > 0) text += random.pick(more);
    else if (choice < 0.8) {
      const [low, high] = random.pick(SCRIPTS);
      for (let n = 1 + random.integer(5); n > 0; n--) text += codePoint(low + random.integer(high - low + 1));
    } else if (choice < 0.9) text += random.pick(SNIPPETS).repeat(1 + random.integer(6));
    else text += codePoint(random.integer(0x110000));
    if (random.next() < 0.3) text += " ";
  }
  return text;
}

/** Surrogates are no characters; NUL would end a C string somewhere. */
function codePoint(point: number): string {
  return point >= 0xd800 && point <= 0xdfff ? "\ufffd" : String.fromCodePoint(point);
}
