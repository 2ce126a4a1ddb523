// Files of version 1 and big-endian ones: the gguf package writes the latter, a few lines of Python the former. Keys and every
// number of every tensor are those of the same file in the usual form.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openFileSource, siblingOpener } from "../../node/files/fileByteSource.ts";
import { ask, ggmlQuantize, oracleMissing, tensor } from "../../testing/oracle.ts";
import type { GgufFile } from "./file.ts";
import { openGguf } from "./open.ts";
import { contentsOf, writeGguf } from "./write.ts";
import { memorySink } from "../byteSink.ts";
import { memorySource } from "../byteSource.ts";

const missing = oracleMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-forms-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const values = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.7) * 3);

async function contentsAsText(file: GgufFile) {
  return {
    keys: Object.fromEntries(file.metadata.entries.map(({ key, raw }) => [key, Buffer.from(raw).toString("hex")])),
    tensors: await Promise.all(
      file.tensors.map(async (tensor) => [
        ...[tensor.name, tensor.type.name, tensor.dims.join()],
        Buffer.from(await file.readTensor(tensor)).toString("hex"),
      ]),
    ),
  };
}

const open = async (path: string): Promise<GgufFile> =>
  openGguf(await openFileSource(path), { openSibling: siblingOpener(path) });

describe.skipIf(missing !== undefined)(`other forms of GGUF ${missing ?? ""}`, () => {
  test("big-endian files of the gguf package are those in the usual order", async () => {
    const packed = async (type: string, columns: number) => ({
      ...{ type, shape: [3, columns] },
      data: await ggmlQuantize(type, values(3 * columns), [3, columns]),
    });
    const tensors = {
      vector: tensor("f32", [5], values(5)),
      half: tensor("f16", [3, 4], values(12)),
      ...Object.fromEntries(
        await Promise.all(
          ["q4_0", "q8_0", "q4_k", "q6_k", "mxfp4"].map(async (type) => [type, await packed(type, 256)] as const),
        ),
      ),
    };
    const metadata = {
      a_u32: ["uint32", 4_000_000_001],
      b_f32: ["float32", 0.1],
      c_i64: ["int64", -5],
      d_text: ["string", "naïve 東京"],
      e_flag: ["bool", true],
      f_texts: ["array", ["a", "", "ccc"]],
      g_numbers: ["array", [1, -2, 70_000]],
      h_f64: ["float64", Math.PI],
    };
    const files: GgufFile[] = [];
    for (const big of [false, true]) {
      const path = join(folder, `${big ? "big" : "little"}.gguf`);
      await ask("ggml.write_file", { path, architecture: "toy", metadata, tensors, big });
      files.push(await open(path));
    }
    const [little, big] = files as [GgufFile, GgufFile];
    expect(big.made?.from).toBe("GGUF 3, big-endian");
    expect(little.made).toBeUndefined();
    expect(big.tensors).toHaveLength(7);
    expect(await contentsAsText(big)).toEqual(await contentsAsText(little));
    // Any range of a tensor, not only whole ones.
    const one = big.requireTensor("q4_k");
    const same = little.requireTensor("q4_k");
    for (const [offset, length] of [
      [1, 1],
      [143, 3],
      [0, 145],
      [200, 100],
    ] as const)
      // prettier-ignore
      expect(await big.readTensor(one, { offset, length })).toEqual(await little.readTensor(same, { offset, length }));
    // What is written of it is the file that it was opened as.
    const sink = memorySink();
    await writeGguf(sink, contentsOf(big));
    const again = await openGguf(memorySource("again.gguf", sink.bytes()));
    expect(again.headerBytes()).toEqual(big.headerBytes());
    expect(again.tensors).toEqual(big.tensors);
    await Promise.all([little, big].map((file) => file.close()));
  });

  test.each([false, true])("version 1, big-endian: %s", async (big) => {
    const path = join(folder, `first-${big}.gguf`);
    const metadata = [
      ["general.architecture", 8, "toy"],
      ["toy.u8", 0, 200],
      ["toy.i16", 3, -300],
      ["toy.u32", 4, 3_000_000_000],
      ["toy.f32", 6, 1.5],
      ["toy.flag", 7, true],
      ["toy.texts", 9, ["one", "", "drei é"]],
      ["toy.floats", 9, [1.25, -2]],
    ] as const;
    const tensors = { a: tensor("f32", [3], [1, -2, 3]), b: tensor("f32", [2, 5], values(10)) };
    await ask("ggml.write_first_version", { path, metadata, tensors, big });
    const file = await open(path);
    expect(file.made?.from).toBe(big ? "GGUF 1, big-endian" : "GGUF 1");
    expect(file.version).toBe(3);
    const { metadata: keys } = file;
    expect(keys.string("general.architecture")).toBe("toy");
    expect([keys.number("toy.u8"), keys.number("toy.i16"), keys.number("toy.u32"), keys.number("toy.f32")]).toEqual([
      200, -300, 3_000_000_000, 1.5,
    ]);
    expect(keys.optionalBool("toy.flag")).toBe(true);
    expect([0, 1, 2].map((i) => keys.strings("toy.texts").textAt(i))).toEqual(["one", "", "drei é"]);
    expect([...(keys.optionalFloats("toy.floats") ?? [])]).toEqual([1.25, -2]);
    const numbers = async (name: string) => new Float32Array((await file.readTensor(file.requireTensor(name))).buffer);
    expect([...(await numbers("a"))]).toEqual([1, -2, 3]);
    expect(file.requireTensor("b").shape).toEqual([2, 5]);
    expect(await numbers("b")).toEqual(values(10));
    await file.close();
  });
});
