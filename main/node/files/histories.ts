/**
 * Histories: files to which lines are only added, each with a checksum. Every line begins and ends with a line break and goes out
 * in one write, so several processes may append, and a line that a killed process has cut off spoils no other.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { HistoryEntry } from "../../contract/views/session.ts";
import { historyEntry, historyKind, LONGEST_ENTRY } from "../../contract/views/session.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Histories } from "../../engine/services.ts";
import { makeFolder } from "./makeFolder.ts";
import { writeFully } from "./writeFully.ts";

/** Bytes that are read, from the end: some ten thousand benchmarks. */
const MOST_READ = 64 << 20;
const SUM_LETTERS = 16;

const sumOf = (json: string): string => createHash("sha256").update(json).digest("hex").slice(0, SUM_LETTERS);

export function createHistories(dataFolder: string, mostRead = MOST_READ): Histories {
  const folder = join(dataFolder, "history");
  const pathOf = (kind: string): string => join(folder, `${historyKind.parse(kind)}.jsonl`);
  return {
    async append(kind, entry) {
      const path = pathOf(kind);
      const json = JSON.stringify(entry);
      if (json.length > LONGEST_ENTRY)
        throw new WorkbenchError(
          "INPUT_LIMIT",
          `[history] ${kind}: got ${json.length} letters, expected ${LONGEST_ENTRY} at most`,
        );
      await makeFolder(folder);
      const file = await open(path, "a");
      try {
        // Opened for appending: the system writes at the end of the file, whatever position is named.
        await writeFully(file, 0, Buffer.from(`\n${sumOf(json)} ${json}\n`));
        await file.datasync();
      } finally {
        await file.close();
      }
    },
    async list(kind, { limit, identity }) {
      const { text, cut } = await tail(pathOf(kind), mostRead);
      const entries: HistoryEntry[] = [];
      let damaged = 0;
      const lines = text.split("\n").reverse();
      // The first line of a cut file begins somewhere before it.
      if (cut) lines.pop();
      for (const line of lines) {
        if (line === "") continue;
        const entry = entryOf(line);
        if (entry === undefined) damaged += 1;
        else if (entries.length < limit && (identity === null || entry.model.identity === identity))
          entries.push(entry);
      }
      return { entries, damaged, cut };
    },
  };
}

function entryOf(line: string): HistoryEntry | undefined {
  const json = line.slice(SUM_LETTERS + 1);
  if (json.length > LONGEST_ENTRY || line[SUM_LETTERS] !== " " || sumOf(json) !== line.slice(0, SUM_LETTERS))
    return undefined;
  try {
    return historyEntry.parse(JSON.parse(json));
  } catch {
    // The line is whole, but of a version that is not ours.
    return undefined;
  }
}

async function tail(path: string, most: number): Promise<{ readonly text: string; readonly cut: boolean }> {
  const file = await open(path, "r").catch(() => undefined);
  if (file === undefined) return { text: "", cut: false };
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, most));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    return { text: bytes.toString("utf8", 0, bytesRead), cut: size > most };
  } finally {
    await file.close();
  }
}
