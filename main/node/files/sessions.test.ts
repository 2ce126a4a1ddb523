import { chmodSync } from "node:fs";
import { mkdtemp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LARGEST_DOCUMENT, readDocument, withoutPaths } from "../../contract/views/session.ts";
import { killWriter } from "../../testing/killedWriter.ts";
import { memoryDocument, memoryEntry } from "../../testing/memoryDocument.ts";
import { createHistories } from "./histories.ts";
import { createSessions } from "./sessions.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-sessions-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const textOf = (at: number): string => JSON.stringify(memoryDocument(at));

describe("sessions", () => {
  it("are saved, listed newest first, loaded as they were, and removed", async () => {
    const sessions = createSessions(folder);
    expect(await sessions.list(10)).toEqual([]);
    await sessions.save("first", textOf(1));
    await utimes(join(folder, "sessions", "first.json"), 1, 1);
    await sessions.save("second", textOf(2));
    const rows = await sessions.list(10);
    expect(rows.map(({ session, savedAt, models, problem }) => [session, savedAt, models, problem])).toEqual([
      ["second", 2, ["Model 2 Q4_K_M"], null],
      ["first", 1, ["Model 1 Q4_K_M"], null],
    ]);
    expect(await sessions.list(1)).toHaveLength(1);
    expect(await sessions.load("first")).toBe(textOf(1));
    await sessions.remove("first");
    await expect(sessions.load("first")).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  });

  it("stay as the last save made them, when many are asked for at once", async () => {
    const sessions = createSessions(folder);
    await Promise.all(Array.from({ length: 20 }, (_, at) => sessions.save("busy", textOf(at))));
    expect(readDocument(await sessions.load("busy")).savedAt).toBe(19);
    expect(await readdir(join(folder, "sessions"))).toEqual(["busy.json"]);
  });

  it("are refused by what is wrong with them, and a bad save leaves the old one", async () => {
    const sessions = createSessions(folder);
    await sessions.save("good", textOf(1));
    const refused = async (text: string) => expect(sessions.save("good", text)).rejects;
    await (
      await refused("{")
    ).toMatchObject({ code: "INPUT_MALFORMED", message: expect.stringContaining("no JSON") as string });
    await (await refused("[]")).toMatchObject({ message: expect.stringContaining("another kind") as string });
    await (
      await refused(JSON.stringify({ ...memoryDocument(1), version: 2 }))
    ).toMatchObject({ message: "[session] got version 2, expected 1" });
    await (
      await refused(JSON.stringify({ ...memoryDocument(1), models: [{}] }))
    ).toMatchObject({ message: expect.stringContaining("models.0.identity") as string });
    await (await refused(" ".repeat(LARGEST_DOCUMENT + 1))).toMatchObject({ code: "INPUT_LIMIT" });
    await expect(sessions.save("../../evil", textOf(1))).rejects.toThrow("expected the id of a session");
    expect(await sessions.load("good")).toBe(textOf(1));
  });

  it("that cannot be read are listed with the reason; links and other files are no sessions", async () => {
    const sessions = createSessions(folder);
    await sessions.save("good", textOf(1));
    await writeFile(join(folder, "sessions", "torn.json"), textOf(2).slice(0, 5000));
    await writeFile(join(folder, "sessions", "UPPER.json"), "{}");
    await symlink(join(folder, "sessions", "good.json"), join(folder, "sessions", "link.json"));
    const rows = await sessions.list(10);
    expect(rows.map(({ session }) => session).sort()).toEqual(["good", "torn"]);
    expect(rows.find(({ session }) => session === "torn")?.problem).toContain("no JSON");
    await expect(sessions.load("torn")).rejects.toMatchObject({ code: "INPUT_MALFORMED" });
    await expect(sessions.load("link")).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  });

  it("beyond the most that are kept go, the oldest first", async () => {
    for (const [at, name] of ["aaaa", "bbbb", "cccc"].entries()) {
      await createSessions(folder).save(name, textOf(at));
      await utimes(join(folder, "sessions", `${name}.json`), at + 1, at + 1);
    }
    await createSessions(folder, 2).save("dddd", textOf(9));
    expect((await readdir(join(folder, "sessions"))).sort()).toEqual(["cccc.json", "dddd.json"]);
  });

  it("say what is in the way of a save", async () => {
    const sessions = createSessions(folder);
    await sessions.save("good", textOf(1));
    chmodSync(join(folder, "sessions"), 0o500);
    try {
      if (process.getuid?.() === 0) return;
      await expect(sessions.save("good", textOf(2))).rejects.toMatchObject({ code: "INPUT_UNREADABLE" });
    } finally {
      chmodSync(join(folder, "sessions"), 0o700);
    }
  });

  it("name files without their folders where a person hands them on", () => {
    const handed = withoutPaths(memoryDocument(1));
    expect(handed.models[0]?.source).toEqual({ kind: "name", name: "m.gguf" });
    expect(JSON.stringify(handed)).not.toContain("secret");
    expect(handed.parts["server"]).toEqual({ port: 0 });
    // An edited graph in text stays, without the file that it is an edited form of.
    const document = memoryDocument(1);
    const text = { kind: "text", name: "a.rlx", text: "graph", file: { path: "/secret/a.rlx", hash: "1" } } as const;
    const written = withoutPaths({ ...document, models: document.models.map((model) => ({ ...model, source: text })) });
    expect(written.models[0]?.source).toEqual({ kind: "text", name: "a.rlx", text: "graph" });
  });
});

it("a process that is killed while it writes leaves session and history whole", async () => {
  let first = 0;
  for (const after of [30, 80]) {
    const last = await killWriter(folder, first, after);
    const { savedAt } = readDocument(await createSessions(folder).load("killed"));
    expect(savedAt).toBeGreaterThanOrEqual(last);
    expect(savedAt).toBeLessThanOrEqual(last + 1);
    const { entries } = await createHistories(folder).list("bench", { limit: 10_000, identity: null });
    const numbers = entries.map(({ at }) => at).reverse();
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
    expect(numbers.filter((at) => at >= first && at <= last)).toHaveLength(last - first + 1);
    first = last + 2;
  }
  expect(await createHistories(folder).list("bench", { limit: 1, identity: null })).toMatchObject({ cut: false });
  await createHistories(folder).append("bench", memoryEntry(first));
});
