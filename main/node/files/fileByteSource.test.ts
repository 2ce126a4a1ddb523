/** Files as sources and sinks: changes are noticed, and unfinished work is never seen. */
import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, readFile, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFileSink, openFileSource, siblingOpener } from "./fileByteSource.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "rlx-file-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});
const at = (name: string): string => join(folder, name);

describe("a file", () => {
  it("gives exactly the bytes that were asked for", async () => {
    await writeFile(at("a"), "0123456789");
    const source = await openFileSource(at("a"));
    expect(new TextDecoder().decode(await source.read(3, 4))).toBe("3456");
    expect(await source.read(10, 0)).toHaveLength(0);
    await expect(source.read(8, 3)).rejects.toMatchObject({ code: "INPUT_TRUNCATED" });
    await expect(source.read(-1, 1)).rejects.toMatchObject({ code: "INPUT_TRUNCATED" });
    await expect(source.read(0, 1, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
    await source.close();
    await source.close();
  });

  it("is one: a folder, a pipe and a device are refused before they are opened", async () => {
    const refused = (path: string, what: string): Promise<void> =>
      expect(openFileSource(path)).rejects.toMatchObject({
        code: "INPUT_UNREADABLE",
        message: expect.stringContaining(`got a ${what}, expected a file`) as string,
      });
    await refused(folder, "folder");
    if (process.platform === "win32") return;
    execFileSync("mkfifo", [at("pipe")]);
    await refused(at("pipe"), "pipe");
    await refused("/dev/null", "device");
  });

  it.each([
    ["grew", (path: string) => appendFile(path, "more")],
    ["shrank", (path: string) => truncate(path, 4)],
    ["was rewritten", (path: string) => writeFile(path, "9876543210")],
  ])("that %s is noticed", async (_, change) => {
    await writeFile(at("a"), "0123456789");
    const source = await openFileSource(at("a"));
    await new Promise((done) => setTimeout(done, 20));
    await change(at("a"));
    await expect(source.read(0, 2)).rejects.toMatchObject({ code: "INPUT_CHANGED" });
    await source.close();
  });

  it("that is not there, or is a folder, is named", async () => {
    await expect(openFileSource(at("nothing"))).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
    await expect(openFileSource(folder)).rejects.toMatchObject({ code: "INPUT_UNREADABLE" });
  });

  it("has siblings in its folder and nowhere else", async () => {
    await writeFile(at("a"), "x");
    await writeFile(at("b"), "yy");
    const open = siblingOpener(at("a"));
    const sibling = await open("b");
    expect(sibling?.byteLength).toBe(2);
    await sibling?.close();
    expect(await open("c")).toBeUndefined();
    expect(await open("../b")).toBeUndefined();
  });
});

describe("a sink", () => {
  it("shows the file only when it is finished", async () => {
    await writeFile(at("out"), "old");
    const sink = await openFileSink(at("out"));
    await sink.write(new TextEncoder().encode("new "));
    await sink.write(new TextEncoder().encode("text"));
    expect(await readFile(at("out"), "utf8")).toBe("old");
    await sink.finish();
    expect(await readFile(at("out"), "utf8")).toBe("new text");
    await sink.abandon();
    expect(await readdir(folder)).toEqual(["out"]);
  });

  it("leaves nothing behind when it is abandoned", async () => {
    const sink = await openFileSink(at("out"));
    await sink.write(new Uint8Array(10));
    await sink.abandon();
    expect(await readdir(folder)).toEqual([]);
  });

  it("names a folder that is not there", async () => {
    await expect(openFileSink(join(folder, "no", "out"))).rejects.toMatchObject({ code: "INPUT_NOT_FOUND" });
  });
});
