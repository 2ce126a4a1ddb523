/** 20 000 damaged headers, and a sparse file of 20 GB. */
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openFileSource } from "../../node/fileByteSource.ts";
import { attack } from "../../testing/hostileGguf.ts";
import { bigHeader } from "../../testing/bigGguf.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { meteredSource } from "../byteSource.ts";
import { describeModel } from "./describe.ts";
import { openGguf } from "./open.ts";

const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

it("20 000 damaged headers give coded errors or an open file, within a second and 256 MiB", async () => {
  const before = process.memoryUsage().rss;
  let most = before;
  for (let first = 0; first < 20_000; first += 1000) {
    const { faults } = await attack(1_000_000 + first, 1000);
    expect(faults).toEqual([]);
    most = Math.max(most, process.memoryUsage().rss);
  }
  expect(most - before).toBeLessThan(256 << 20);
});

it("a 20 GB file with 150 000 tokens is described from its header alone", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-sparse-"));
  folders.push(folder);
  const path = join(folder, "big.gguf");
  const { bytes, total } = bigHeader();
  const handle = await open(path, "w");
  await handle.write(bytes);
  await handle.truncate(total);
  await handle.close();
  expect(total).toBeGreaterThan(20e9);
  const meter = meteredSource(await openFileSource(path));
  const file = await openGguf(meter);
  const described = describeModel(file);
  expect(described.tokenizer?.tokens).toBe(150_000);
  expect(described.parameters).toBeGreaterThan(18e9);
  expect(createTokenizer(file).encode("hello world").length).toBeGreaterThan(1);
  expect(meter.bytesRead()).toBeLessThan(bytes.length + (5 << 20));
  expect(file.identity).toMatch(/^[0-9a-f]+-[0-9a-f]{32}$/u);
  await file.close();
});
