import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unfinishedNote, partialName, removeAbandonedFiles, uploadPrefix } from "./abandonedFiles.ts";
import { packageWriter } from "./packageDirectory.ts";
import type { Maker } from "./processes.ts";
import { makerName, ownMaker } from "./processes.ts";

let [folder, home, temporary] = ["", "", ""];
/** The number of a process that has ended. */
let dead = 0;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-abandoned-"));
  [home, temporary] = [join(folder, "home"), join(folder, "tmp")];
  for (const each of [join(home, "unfinished"), temporary]) await mkdir(each, { recursive: true });
  const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
  await once(child, "exit");
  dead = child.pid ?? 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const byDead = (name: string): string => name.replace(String(process.pid), String(dead));
const uploadBy = (maker: Partial<Maker>): string => `rlx-upload-${makerName({ ...ownMaker(), ...maker })}-a`;
const OTHER = "01234567";

async function makeUpload(name: string): Promise<void> {
  await mkdir(join(temporary, name));
  await writeFile(join(temporary, name, "model.gguf"), "weights");
}

/** A package that a process was writing, with its note. */
async function makePartial(target: string): Promise<string> {
  const partial = byDead(partialName(target));
  await mkdir(join(folder, partial, "Data"), { recursive: true });
  await note(join(folder, partial));
  return partial;
}
const note = (text: string): Promise<void> =>
  writeFile(join(home, "unfinished", `${makerName({ ...ownMaker(), pid: dead })}.note`), text);
const packagesHere = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name.includes("mlpackage"));

describe("uploads", () => {
  it("of processes that have ended go, those of others stay", async () => {
    const [own, parents] = [`${uploadPrefix()}a`, uploadBy({ pid: process.ppid })];
    for (const name of [byDead(own), own, parents, "rlx-upload-c", "other-1-d"]) await makeUpload(name);
    await removeAbandonedFiles(home, temporary);
    expect((await readdir(temporary)).sort()).toEqual([own, parents, "rlx-upload-c", "other-1-d"].sort());
  });

  it("of another machine or container stay, those of this one before it was started anew go", async () => {
    const staying = [
      { host: OTHER, boot: OTHER, numbering: OTHER, pid: dead },
      { host: OTHER, pid: dead },
      { numbering: OTHER, pid: dead },
    ].map(uploadBy);
    for (const name of [...staying, uploadBy({ boot: OTHER, numbering: OTHER })]) await makeUpload(name);
    await removeAbandonedFiles(home, temporary);
    expect((await readdir(temporary)).sort()).toEqual(staying.sort());
  });

  it("that are older than the boot are removed, even if the number is in use again", async () => {
    const own = `${uploadPrefix()}a`;
    await makeUpload(own);
    await utimes(join(temporary, own), 1, 1);
    await removeAbandonedFiles(home, temporary);
    expect(await readdir(temporary)).toEqual([]);
  });
});

describe("packages", () => {
  it("that a dead process was writing go, with their notes", async () => {
    await makePartial("x.mlpackage");
    await removeAbandonedFiles(home, temporary);
    expect(await packagesHere()).toEqual([]);
    expect(await readdir(join(home, "unfinished"))).toEqual([]);
  });

  it("that one was replacing come back if they have no name, and go if the new one has it", async () => {
    for (const isNewThere of [false, true]) {
      const partial = await makePartial("x.mlpackage");
      await mkdir(join(folder, `${partial}.old`));
      await writeFile(join(folder, `${partial}.old`, "which"), "old");
      if (isNewThere) {
        await mkdir(join(folder, "x.mlpackage"), { recursive: true });
        await writeFile(join(folder, "x.mlpackage", "which"), "new");
      }
      await removeAbandonedFiles(home, temporary);
      expect(await packagesHere()).toEqual(["x.mlpackage"]);
      expect(await readFile(join(folder, "x.mlpackage", "which"), "utf8")).toBe(isNewThere ? "new" : "old");
    }
  });

  it("are all that a note can have removed", async () => {
    await mkdir(join(folder, "precious.mlpackage"));
    for (const path of ["precious.mlpackage", ".", "", partialName("x.mlpackage")]) {
      await mkdir(join(folder, path), { recursive: true });
      await note(join(folder, path));
      await removeAbandonedFiles(home, temporary);
      expect(await readdir(join(folder, path)), path).toBeDefined();
    }
  });

  it("of this process are noted until they are done", async () => {
    const notes = (): Promise<string[]> => readdir(join(home, "unfinished"));
    for (const end of ["commit", "abandon"] as const) {
      const writer = await packageWriter(join(folder, `${end}.mlpackage`), unfinishedNote(home));
      expect(await notes()).toHaveLength(1);
      await removeAbandonedFiles(home, temporary);
      expect((await packagesHere()).some((name) => name.endsWith(".partial"))).toBe(true);
      await writer[end]();
      expect(await notes()).toEqual([]);
    }
    expect(await packagesHere()).toEqual(["commit.mlpackage"]);
    await expect(packageWriter("/proc/x.mlpackage", unfinishedNote(home))).rejects.toMatchObject({ code: "ENV_IO" });
    expect(await notes()).toEqual([]);
  });
});
