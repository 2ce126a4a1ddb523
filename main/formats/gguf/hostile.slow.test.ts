/** 20 000 damaged headers, and a sparse file of 20 GB. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { attack, touchModel } from "../../testing/hostileGguf.ts";
import { attackAll } from "../../testing/longAttack.ts";
import { writeBigFile } from "../../testing/bigGguf.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { meteredSource } from "../byteSource.ts";
import { describeFile } from "./describe.ts";
import { openGguf } from "./open.ts";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

it("20 000 damaged headers give coded errors or an open file, within a second and 256 MiB", async () => {
  const ends = await attackAll(1_000_000, 20_000, {});
  // The damage goes everywhere: some files still open, most do not, and for many different reasons.
  expect(ends.get("opened")).toBeGreaterThan(1000);
  expect(ends.get("opened")).toBeLessThan(15_000);
  // A type that is not known is no refusal any more: such a file opens, and its tensors are shown by number.
  expect([...ends.values()].filter((times) => times >= 20).length).toBeGreaterThanOrEqual(6);
});

it("5 000 damaged headers of a whole model give coded errors or its graph", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-hostile-"));
  folders.push(folder);
  const path = join(folder, "tiny.gguf");
  await writeTinyGguf(path);
  const whole = await openGguf(await openFileSource(path));
  const bytes = new Uint8Array(await readFile(path)).slice(0, whole.tensors[0]?.offset ?? 0);
  await whole.close();
  expect(bytes.length).toBeGreaterThan(1000);
  const ends = await attackAll(2_000_000, 5000, { victim: { bytes, total: whole.byteLength }, work: touchModel });
  expect(ends.get("opened")).toBeGreaterThan(100);
  expect([...ends.values()].filter((times) => times >= 10).length).toBeGreaterThanOrEqual(7);
});

it("an attack finds what is wrong: foreign errors, our own faults, errors without a hint, and slowness", async () => {
  const faultsOf = async (work: () => Promise<void>): Promise<readonly string[]> =>
    (await attack(1, 1, { work })).faults;
  const failing = (error: Error) => () => Promise.reject(error);
  expect(await faultsOf(failing(new RangeError("x")))).toEqual(["seed 1: RangeError x"]);
  expect(await faultsOf(failing(new WorkbenchError("BUG_INVARIANT", "x", { hint: "y" })))).toHaveLength(1);
  expect(await faultsOf(failing(new WorkbenchError("INPUT_LIMIT", "x")))).toHaveLength(1);
  expect(await faultsOf(failing(new WorkbenchError("INPUT_LIMIT", "x", { hint: "y" })))).toEqual([]);
  const busy = async (): Promise<void> => {
    const before = process.cpuUsage();
    const spent = (): number => {
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    while (spent() < 1_100_000);
    return Promise.resolve();
  };
  expect(await faultsOf(busy)).toEqual([expect.stringMatching(/^seed 1: took 1\d{3} ms$/)]);
});

it("a 20 GB file with 150 000 tokens is described from its header alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-sparse-"));
  folders.push(folder);
  const path = join(folder, "big.gguf");
  const { headerBytes, total } = writeBigFile(path);
  expect(total).toBeGreaterThan(20e9);
  const meter = meteredSource(await openFileSource(path));
  const file = await openGguf(meter);
  const described = describeFile(file);
  expect(described.tokenizer?.tokens).toBe(150_000);
  expect(described.parameters).toBeGreaterThan(18e9);
  expect(createTokenizer(file).encode("hello world").length).toBeGreaterThan(1);
  expect(meter.bytesRead()).toBeLessThan(headerBytes + (5 << 20));
  expect(file.identity).toMatch(/^[0-9a-f]+-[0-9a-f]{32}$/u);
  await file.close();
});
