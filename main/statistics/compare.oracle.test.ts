/** Files compared with files, and with folders of safetensors: the numbers are NumPy's, over what the gguf package reads. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openModelFile } from "../formats/openModel.ts";
import { modelFiles } from "../node/files/modelFiles.ts";
import { openModel } from "../node/library/model.ts";
import { quantizeModel } from "../node/library/quantize.ts";
import { loadAddon } from "../node/native/addon.ts";
import { ask, oracleMissing } from "../testing/oracle.ts";
import { writeRandomModel } from "../testing/randomModel.ts";
import { TOY_FOLDERS, writeFolder } from "../testing/toyFolders.ts";
import { compareFiles } from "./compare.ts";
import { measurer } from "./measureRows.ts";

const missing = oracleMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-compare-"));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const engine = loadAddon();
const measure = measurer((rows, signal) => engine.measure(rows, 2, signal));

async function open(name: string): Promise<GgufFile> {
  const { source, openSibling } = await modelFiles.open(at(name));
  return openModelFile(source, { openSibling });
}

interface Numbers {
  readonly relative: number;
  readonly rmse: number;
  readonly cosine: number;
  readonly farthest: number;
}

/** Names of a GGUF, those of the folder, and how many heads' rows the GGUF has in another order. */
const NAMES = [
  ["token_embd.weight", "model.embed_tokens.weight", 0],
  ["output.weight", "lm_head.weight", 0],
  ["blk.1.ffn_down.weight", "model.layers.1.mlp.down_proj.weight", 0],
  ["blk.0.attn_v.weight", "model.layers.0.self_attn.v_proj.weight", 0],
  ["blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", 4],
  ["blk.1.attn_k.weight", "model.layers.1.self_attn.k_proj.weight", 2],
] as const;

describe.skipIf(missing !== undefined)(`comparing files ${missing ?? ""}`, () => {
  beforeAll(async () => {
    await writeRandomModel(
      ...["--preset", "tiny-qwen3", "--type", "q4_k_m"],
      ...["--out", at("packed.gguf"), "--exact", at("exact.gguf")],
    );
    await writeFolder(at("folder"), TOY_FOLDERS[0]!);
    for (const [from, to, type] of [
      ["exact.gguf", "small.gguf", "q3_k_m"],
      ["folder", "folder-q8.gguf", "q8_0"],
    ] as const) {
      const model = await openModel(at(from));
      await quantizeModel(model, at(to), { to: type });
      await model.close();
    }
  });

  const near = (ours: number, theirs: number, what: string): void =>
    expect(Math.abs(ours - theirs), what).toBeLessThan(1e-9 * Math.abs(theirs) + 1e-12);

  it("gives NumPy's sum of all tensors of two files, and each in the order of the file", async () => {
    const [file, other] = [await open("small.gguf"), await open("exact.gguf")];
    const told: number[] = [];
    const { rows, left, onlyThere, sum } = await compareFiles(file, other, {
      measure,
      onProgress: ({ doneBytes, totalBytes }) => told.push(doneBytes / totalBytes),
    });
    const whole = (await ask("quantize.whole_error", {
      path: at("small.gguf"),
      against: at("exact.gguf"),
    })) as unknown as { relative: number; rmse: number; values: number };
    near(sum.relative, whole.relative, "relative");
    near(sum.rmse, whole.rmse, "rmse");
    near(sum.decibels, -20 * Math.log10(whole.relative), "decibels");
    expect(sum.relative).toBeGreaterThan(0.01);
    expect([sum.values, sum.tensors, left, onlyThere]).toEqual([whole.values, file.tensors.length, [], []]);
    expect(rows.map(({ tensor }) => tensor)).toEqual(file.tensors.map(({ name }) => name));
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told.at(-1)).toBe(1);
    await file.close();
    await other.close();
  });

  it("compares a file with the folder that it was made from, rows in the order of the file", async () => {
    const [file, other] = [await open("folder-q8.gguf"), await open("folder")];
    const { rows, left } = await compareFiles(file, other, { measure });
    expect(left).toEqual([]);
    for (const [name, theirs, heads] of NAMES) {
      const row = rows.find(({ tensor }) => tensor === name)!;
      const numbers = (await ask("quantize.error_to_folder", {
        ...{ path: at("folder-q8.gguf"), folder: at("folder"), name, theirs, heads },
      })) as unknown as Numbers;
      expect([row.type, row.relative > 0], name).toEqual(["q8_0", true]);
      near(row.relative, numbers.relative, name);
      near(row.rmse, numbers.rmse, name);
      near(row.cosine, numbers.cosine, name);
      near(row.farthest!.difference, numbers.farthest, name);
    }
    await file.close();
    await other.close();
  });

  it("says plainly what is missing, has another shape, or is only there", async () => {
    const f32 = (shape: readonly number[]) => ({
      type: "f32",
      data: new Uint8Array(new Float32Array(shape.reduce((a, b) => a * b)).fill(1).buffer),
      shape: [...shape],
    });
    const write = (name: string, shapes: Readonly<Record<string, readonly number[]>>): Promise<unknown> =>
      ask("ggml.write_file", {
        ...{ architecture: "toy", metadata: {}, path: at(name) },
        tensors: Object.fromEntries(Object.entries(shapes).map(([tensor, shape]) => [tensor, f32(shape)])),
      });
    await write("here.gguf", { same: [2, 4], turned: [2, 8], larger: [3, 4], gone: [4], "output.weight": [8, 4] });
    await write("there.gguf", {
      same: [2, 4],
      turned: [8, 2],
      larger: [5, 4],
      extra: [4],
      "token_embd.weight": [8, 4],
    });
    const [file, other] = [await open("here.gguf"), await open("there.gguf")];
    const { rows, left, onlyThere } = await compareFiles(file, other, { measure });
    expect(rows).toMatchObject([{ tensor: "same", relative: 0, decibels: Infinity, farthest: { difference: 0 } }]);
    expect(left).toEqual([
      { tensor: "turned", why: "[8, 2] here and [2, 8] in there.gguf: as many values, in another order" },
      { tensor: "larger", why: "[4, 3] here and [4, 5] in there.gguf" },
      { tensor: "gone", why: "not in there.gguf" },
      { tensor: "output.weight", why: "not in there.gguf, whose output matrix is token_embd.weight" },
    ]);
    expect(onlyThere).toEqual(["extra", "token_embd.weight"]);
    await other.close();
    const wrong = await open("exact.gguf");
    await expect(compareFiles(file, wrong, { measure })).rejects.toThrow(
      /exact\.gguf: got none of 5 tensors in the same shape, expected a file of the same model as here\.gguf/u,
    );
    const none = compareFiles(file, wrong, { measure, only: () => false });
    await expect(none).rejects.toThrow(/here\.gguf: got no tensors to compare/u);
    await file.close();
    await wrong.close();
  });
});
