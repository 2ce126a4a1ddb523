import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { claim, claimOf } from "./claim.ts";
import { packageWriter } from "./packageDirectory.ts";
import { makerName, ownMaker } from "./processes.ts";

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), "rlx-claim-"))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const busy = expect.objectContaining({ code: "HANDLE_BUSY" }) as Error;

it("two writers of one package cannot both succeed", async () => {
  const target = join(folder, "two.mlpackage");
  const first = await packageWriter(target);
  await expect(packageWriter(target)).rejects.toThrow(busy);
  const file = await first.file("a", 1);
  await file.write(0, Uint8Array.of(1));
  await file.close();
  await first.commit();
  expect(existsSync(target)).toBe(true);
  expect(existsSync(claimOf(target))).toBe(false);
});

it("a writer that gives up makes room", async () => {
  const target = join(folder, "given-up.mlpackage");
  const first = await packageWriter(target);
  await first.abandon();
  await (await packageWriter(target)).abandon();
  expect(existsSync(claimOf(target))).toBe(false);
});

it("the claim of a process that has ended is taken over, by one", async () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  const dead = makerName({ ...ownMaker(), pid });
  for (let round = 0; round < 50; round++) {
    const target = join(folder, `left-${round}.mlpackage`);
    writeFileSync(claimOf(target), dead);
    const tries = await Promise.allSettled(Array.from({ length: 6 }, () => claim(target)));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(existsSync(`${claimOf(target)}.lock`)).toBe(false);
  }
});

it("a process that died while it took a claim over is in the way once only", async () => {
  const target = join(folder, "died.mlpackage");
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  for (const path of [claimOf(target), `${claimOf(target)}.lock`])
    writeFileSync(path, makerName({ ...ownMaker(), pid }));
  await expect(claim(target)).rejects.toThrow(busy);
  await (
    await claim(target)
  )();
});

it("the claim of a process that lives, or that cannot be read, stays", async () => {
  const target = join(folder, "alive.mlpackage");
  writeFileSync(claimOf(target), makerName({ ...ownMaker(), pid: process.ppid }));
  await expect(claim(target)).rejects.toThrow(busy);
  writeFileSync(claimOf(target), "nonsense");
  await expect(claim(target)).rejects.toThrow(busy);
});
