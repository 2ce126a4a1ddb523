import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LONGEST_ENTRY } from "../../contract/views/session.ts";
import type { HistoryEntry } from "../../contract/views/session.ts";
import { createHistories } from "./histories.ts";

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-history-"));
  path = join(folder, "history", "bench.jsonl");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const entry = (at: number, identity = "a"): HistoryEntry => ({
  at,
  model: { title: "M", identity, path: null },
  value: { rate: at },
});
const all = { limit: 1000, identity: null };

describe("a history", () => {
  it("gives what was appended, newest first, of one model where that is asked for", async () => {
    const histories = createHistories(folder);
    expect(await histories.list("bench", all)).toEqual({ entries: [], damaged: 0, cut: false });
    for (const [at, identity] of ["a", "b", "a"].entries()) await histories.append("bench", entry(at, identity));
    expect(await histories.list("bench", all)).toEqual({
      entries: [entry(2), entry(1, "b"), entry(0)],
      damaged: 0,
      cut: false,
    });
    expect((await histories.list("bench", { limit: 1, identity: "a" })).entries).toEqual([entry(2)]);
    expect((await histories.list("advice", all)).entries).toEqual([]);
    await expect(histories.append("../bench", entry(1))).rejects.toThrow("expected the name of a history");
  });

  it("leaves out a line that was cut off, says so, and loses no line after it", async () => {
    const histories = createHistories(folder);
    await histories.append("bench", entry(1));
    await histories.append("bench", entry(2));
    const text = await readFile(path, "utf8");
    await truncate(path, text.length - 9);
    await histories.append("bench", entry(3));
    expect(await histories.list("bench", all)).toEqual({ entries: [entry(3), entry(1)], damaged: 1, cut: false });
  });

  it("leaves out lines that were changed or are of another kind", async () => {
    const histories = createHistories(folder);
    await histories.append("bench", entry(1));
    await writeFile(path, (await readFile(path, "utf8")).replace('"rate":1', '"rate":9'));
    await histories.append("bench", entry(2));
    await appendFile(path, "nonsense\n");
    expect(await histories.list("bench", all)).toEqual({ entries: [entry(2)], damaged: 2, cut: false });
  });

  it("reads the end of a file that is longer than what is read, and says so", async () => {
    const histories = createHistories(folder, 300);
    for (let at = 0; at < 10; at++) await histories.append("bench", entry(at));
    const { entries, damaged, cut } = await histories.list("bench", all);
    expect({ newest: entries[0], damaged, cut }).toEqual({ newest: entry(9), damaged: 0, cut: true });
    expect(entries.length).toBeLessThan(4);
  });

  it("takes lines of several writers at once", async () => {
    const writers = [0, 1, 2].map(() => createHistories(folder));
    await Promise.all(writers.flatMap((one, w) => [0, 1, 2, 3].map((i) => one.append("bench", entry(10 * w + i)))));
    const { entries, damaged } = await createHistories(folder).list("bench", all);
    expect([entries.map(({ at }) => at).sort((a, b) => a - b), damaged]).toEqual([
      [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23],
      0,
    ]);
  });

  it("refuses what is too long for a line", async () => {
    const long = { ...entry(1), value: "x".repeat(LONGEST_ENTRY) };
    await expect(createHistories(folder).append("bench", long)).rejects.toMatchObject({ code: "INPUT_LIMIT" });
  });
});
