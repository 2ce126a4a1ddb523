import { execFileSync } from "node:child_process";
import { mkdtemp, open, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toWireError } from "../../diagnostics/errors.ts";
import { textOrBytes } from "../../diagnostics/utf8.ts";
import { textReader } from "../../testing/textReader.ts";
import { readText } from "./text.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-text-"));
});
afterAll(() => rm(folder, { recursive: true }));

const never = textReader();

it.each<readonly [what: string, bytes: readonly number[], offset: number]>([
  ["a byte of another encoding", [0x61, 0xe9, 0x62], 1],
  ["a sequence without its end", [0x61, 0xe3, 0x81], 1],
  ["what begins like the mark of replacement", [0x61, 0xef, 0xbf, 0x41], 1],
  ["its first byte alone", [0xef, 0x41], 0],
  ["a fault behind a real mark", [0xef, 0xbf, 0xbd, 0xff], 3],
  ["UTF-16", [0xff, 0xfe, 0x61, 0x00], 0],
])("names where %s stands", async (_, bytes, offset) => {
  const path = join(folder, "bad.txt");
  await writeFile(path, Uint8Array.from(bytes));
  await expect(readText(path, never)).rejects.toMatchObject({ code: "INPUT_MALFORMED", details: { offset } });
});

it.each<readonly [bytes: readonly number[], text: string]>([
  [[0x20, 0xe3], " <0xE3>"],
  [[0x81, 0x82, 0x61], "<0x81><0x82>a"],
  [[0xef, 0xbf, 0x41], "<0xEF><0xBF>A"],
  [[0xe3, 0x81, 0x82], "あ"],
  [[0xef, 0xbf, 0xbd], "\ufffd"],
  [[], ""],
])("writes bytes that are no character as bytes: %j", (bytes, text) => {
  expect(textOrBytes(Uint8Array.from(bytes))).toBe(text);
});

it("gives a text as it is, marks and byte order too", async () => {
  const path = join(folder, "good.txt");
  const text = "\ufeffcafé \ufffd 日本\r\n";
  await writeFile(path, text);
  expect(await readText(path, never)).toBe(text);
});

it("stops reading when it is told to", async () => {
  const path = join(folder, "good.txt");
  await expect(readText(path, textReader(AbortSignal.abort()))).rejects.toMatchObject({ name: "AbortError" });
});

describe.skipIf(process.platform === "win32")("a pipe", () => {
  const makePipe = (name: string): string => {
    execFileSync("mkfifo", [join(folder, name)]);
    return join(folder, name);
  };

  it("gives what is written to it", async () => {
    const path = makePipe("written");
    const read = readText(path, never);
    await writeFile(path, "café\n".repeat(50_000));
    expect(await read).toBe("café\n".repeat(50_000));
  });

  it.each([0, 100])("without a writer is left on an abort after %d ms", async (after) => {
    const abort = new AbortController();
    const read = readText(makePipe(`silent-${after}`), textReader(abort.signal));
    setTimeout(() => abort.abort(), after);
    await expect(read.catch(toWireError)).resolves.toMatchObject({ code: "CANCELLED" });
  });

  it("whose writer says nothing is left, too", async () => {
    const path = makePipe("mute");
    const abort = new AbortController();
    const read = readText(path, textReader(abort.signal));
    const writer = await open(path, "w");
    await wait(50);
    abort.abort();
    await expect(read.catch(toWireError)).resolves.toMatchObject({ code: "CANCELLED" });
    await writer.close();
  });
});
