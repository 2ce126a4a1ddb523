/** The values of tensors against the gguf package and NumPy; and files that are broken on purpose. */
import { mkdtempSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import { blockLayout } from "../ir/dtype.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { ask, oracleMissing } from "../testing/oracle.ts";
import { writeRandomModel } from "../testing/randomModel.ts";
import type { Unpack } from "./scan.ts";
import { checkTensor, scanTensor } from "./scan.ts";

const missing = oracleMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-scan-"));
const packed = join(folder, "packed.gguf");
const exact = join(folder, "exact.gguf");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const unpack: Unpack = (type, bytes) => {
  const block = blockLayout(type);
  return Promise.resolve(dequantize(type, bytes, (bytes.byteLength / block.bytes) * block.elements));
};
const open = async (path: string): Promise<GgufFile> => openGguf(await openFileSource(path));

/** The file with the bytes of one tensor changed. */
async function changed(name: string, tensor: string, change: (bytes: Buffer) => void): Promise<GgufFile> {
  const bytes = await readFile(packed);
  const file = await open(packed);
  const { offset, byteLength } = file.requireTensor(tensor);
  await file.close();
  change(bytes.subarray(offset, offset + byteLength));
  const path = join(folder, name);
  await writeFile(path, bytes);
  return open(path);
}

describe.skipIf(missing !== undefined)(`scanning tensors ${missing ?? ""}`, () => {
  beforeAll(() => writeRandomModel("--preset", "tiny-qwen3", "--type", "q4_k_m", "--out", packed, "--exact", exact));

  it("gives NumPy's numbers of every tensor, and its distance to the exact file", async () => {
    type Row = readonly [string, readonly number[], number, readonly number[], number];
    const rows = (await ask("quantize.statistics", { path: packed, against: exact })) as unknown as readonly Row[];
    const [file, against] = [await open(packed), await open(exact)];
    expect(rows.length).toBe(file.tensors.length);
    for (const [name, numbers, dead, counts, difference] of rows) {
      const scan = await scanTensor(file, file.requireTensor(name), { unpack, against, bars: counts.length });
      const [min, max, mean, std, zeros, nans, infinities] = numbers;
      expect([scan.min, scan.max, scan.zeros, scan.nans, scan.infinities, scan.deadRows], name).toEqual([
        min,
        max,
        zeros,
        nans,
        infinities,
        dead,
      ]);
      expect(Math.abs(scan.mean - mean!), name).toBeLessThan(1e-9 * std! + 1e-12);
      expect(Math.abs(scan.std - std!), name).toBeLessThan(1e-9 * std! + 1e-12);
      expect(Math.abs(scan.difference! - difference), name).toBeLessThan(1e-9);
      // A value on the line between two bars may fall into either.
      scan.histogram!.counts.forEach((count, i) => expect(Math.abs(count - counts[i]!), name).toBeLessThanOrEqual(1));
    }
    await file.close();
    await against.close();
  });

  it("names the row of a scale that is NaN, and rows of zeros", async () => {
    const tensor = "blk.1.attn_q.weight";
    const whole = await open(packed);
    const { dims, byteLength } = whole.requireTensor(tensor);
    await whole.close();
    const rowBytes = byteLength / dims[1]!;
    const bad = await changed("nan.gguf", tensor, (bytes) => bytes.writeUInt16LE(0x7e00, 5 * rowBytes));
    const { scan, findings } = await checkTensor(bad, bad.requireTensor(tensor), { unpack });
    expect(scan?.firstNotFinite).toEqual({ row: 5, expert: null, column: 0 });
    expect(findings).toEqual([{ tensor, kind: "broken", sentence: "256 NaN, the first in row 5" }]);
    await bad.close();

    const dead = await changed("dead.gguf", tensor, (bytes) => bytes.fill(0, 2 * rowBytes, 4 * rowBytes));
    expect((await checkTensor(dead, dead.requireTensor(tensor), { unpack })).findings).toEqual([
      { tensor, kind: "odd", sentence: "2 rows of zeros, the first is row 2" },
    ]);
    await dead.close();

    const empty = await changed("empty.gguf", tensor, (bytes) => bytes.fill(0));
    expect((await checkTensor(empty, empty.requireTensor(tensor), { unpack })).findings).toEqual([
      { tensor, kind: "broken", sentence: "nothing but zeros" },
    ]);
    await empty.close();
  });
});
