/** The values of tensors against the gguf package, ggml and NumPy; and files that are broken on purpose. */
import { mkdtempSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openModelFile } from "../formats/openModel.ts";
import type { Measure } from "../ir/measure.ts";
import { modelFiles } from "../node/files/modelFiles.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { openModel } from "../node/library/model.ts";
import { quantizeModel } from "../node/library/quantize.ts";
import { loadAddon } from "../node/native/addon.ts";
import { blockGroups } from "../quant/groups.ts";
import type { PackedType } from "../quant/registry.ts";
import { PACKED, PACKED_TYPES } from "../quant/registry.ts";
import { writeDamaged } from "../testing/damagedFile.ts";
import { ask, ggmlDequantize, ggmlQuantize, ggufReadTensor, oracleMissing } from "../testing/oracle.ts";
import { seededRandom } from "../testing/random.ts";
import { TOY_FOLDERS, writeFolder } from "../testing/toyFolders.ts";
import { writeRandomModel } from "../testing/randomModel.ts";
import { checkFile } from "./check.ts";
import { measurer } from "./measureRows.ts";
import { scanTensor } from "./scan.ts";
import { pageOfValues } from "./values.ts";

const missing = oracleMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-scan-"));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const engine = loadAddon();
const MEASURES: readonly (readonly [string, Measure])[] = [
  ["in TypeScript", measurer(undefined)],
  ["on the CPU engine", measurer((rows, signal) => engine.measure(rows, 2, signal))],
];
const measure = MEASURES[1]![1];
const open = async (name: string): Promise<GgufFile> => openModelFile(await openFileSource(at(name)));

/** A copy of a file with bytes of one tensor changed. */
async function changed(from: string, tensor: string, change: (bytes: Buffer) => void): Promise<GgufFile> {
  await writeDamaged(at(from), at("changed.gguf"), tensor, change);
  return open("changed.gguf");
}

const EXPERTS = 3;
const ROWS = 4;
const COLUMNS = 512;
/** Types that ggml packs without an importance matrix. */
const TYPES = [
  "q4_0",
  "q4_1",
  "q5_0",
  "q8_0",
  "q2_k",
  "q3_k",
  "q4_k",
  "q5_k",
  "q6_k",
  "iq4_nl",
  "mxfp4",
  "tq2_0",
] as const;

/** Those of them that the gguf package turns into the other byte order. */
const SWAPPED: ReadonlySet<string> = new Set(["q8_0", "q4_k", "q6_k"]);

describe.skipIf(missing !== undefined)(`scanning tensors ${missing ?? ""}`, () => {
  beforeAll(async () => {
    await writeRandomModel(
      "--preset",
      "tiny-qwen3",
      "--type",
      "q4_k_m",
      "--out",
      at("packed.gguf"),
      "--exact",
      at("exact.gguf"),
    );
    const exact = await openModel(at("exact.gguf"));
    await quantizeModel(exact, at("rounded.gguf"), { to: "q3_k_m" });
    await exact.close();
    const random = seededRandom(5).next;
    const values = Float32Array.from({ length: EXPERTS * ROWS * COLUMNS }, () => random() - 0.5);
    const tensors: Record<string, { type: string; data: Uint8Array; shape: number[] }> = {};
    for (const type of TYPES) {
      const data = await ggmlQuantize(type, values, [EXPERTS * ROWS, COLUMNS]);
      tensors[`blk.0.${type}_exps.weight`] = { type, data, shape: [EXPERTS, ROWS, COLUMNS] };
    }
    const swapped = Object.fromEntries(Object.entries(tensors).filter(([, { type }]) => SWAPPED.has(type)));
    const file = { architecture: "toy", metadata: {} };
    await ask("ggml.write_file", { ...file, path: at("experts.gguf"), tensors });
    await ask("ggml.write_file", { ...file, path: at("big.gguf"), tensors: swapped, big: true });
  });

  type Row = readonly [string, readonly number[], number, readonly number[], readonly number[]];
  const statisticsOf = async (path: string, against: string): Promise<readonly Row[]> =>
    (await ask("quantize.statistics", { path: at(path), against: at(against) })) as unknown as readonly Row[];

  it.each(MEASURES)("gives NumPy's numbers of every tensor, and its distance to the exact file, %s", async (_, own) => {
    const rows = await statisticsOf("rounded.gguf", "exact.gguf");
    const [file, against] = [await open("rounded.gguf"), await open("exact.gguf")];
    expect(rows.length).toBe(file.tensors.length);
    for (const [name, numbers, dead, counts, apart] of rows) {
      const [relative, rmse, cosine, worst, most, mostAt] = apart;
      const tensor = file.requireTensor(name);
      const scan = await scanTensor(file, tensor, { measure: own, against, bars: counts.length });
      const [min, max, mean, std, zeros, nans, infinities] = numbers;
      expect([scan.min, scan.max, scan.zeros, scan.nans, scan.infinities, scan.deadRows], name).toEqual([
        ...[min, max, zeros, nans, infinities],
        dead,
      ]);
      const { difference } = scan;
      for (const [ours, theirs, scale] of [
        [scan.mean, mean!, std!],
        [scan.std, std!, std!],
        [difference!.relative, relative!, 1],
        [difference!.rmse, rmse!, rmse!],
        [difference!.cosine, cosine!, 1],
      ] as const)
        expect(Math.abs(ours - theirs), name).toBeLessThan(1e-9 * scale + 1e-12);
      if (relative! > 0) expect(difference!.worst!.place.row, name).toBe(worst);
      const columns = tensor.dims[0]!;
      expect(difference!.farthest, name).toMatchObject({
        difference: most,
        place: { row: Math.floor(mostAt! / columns), column: mostAt! % columns },
      });
      expect(difference!.decibels, name).toBe(-20 * Math.log10(difference!.relative));
      // A value on the line between two bars may fall into either.
      scan.histogram!.counts.forEach((count, i) => expect(Math.abs(count - counts[i]!), name).toBeLessThanOrEqual(1));
    }
    await file.close();
    await against.close();
  });

  it.each(MEASURES)("gives NumPy's numbers of experts of every type, in both byte orders, %s", async (_, own) => {
    const rows = await statisticsOf("experts.gguf", "experts.gguf");
    const [file, big] = [await open("experts.gguf"), await open("big.gguf")];
    expect([rows.length, big.tensors.length]).toEqual([TYPES.length, SWAPPED.size]);
    for (const [name, [min, max, mean, std, zeros], dead] of rows) {
      const scan = await scanTensor(file, file.requireTensor(name), { measure: own });
      expect([scan.min, scan.max, scan.zeros, scan.deadRows], name).toEqual([min, max, zeros, dead]);
      expect(Math.abs(scan.mean - mean!), name).toBeLessThan(1e-9);
      expect(Math.abs(scan.std - std!), name).toBeLessThan(1e-9);
      const same = big.tensor(name);
      if (same !== undefined) expect(await scanTensor(big, same, { measure: own }), name).toEqual(scan);
    }
    await file.close();
    await big.close();
  });

  it("pages through the values of an expert", async () => {
    const file = await open("experts.gguf");
    for (const type of TYPES) {
      const name = `blk.0.${type}_exps.weight`;
      const { data } = await ggufReadTensor(at("experts.gguf"), name);
      const choice = { matrix: 2, row: 1, column: 250, rows: 9, columns: 20 };
      const page = await pageOfValues(file, file.requireTensor(name), choice);
      expect(page).toMatchObject({ matrices: EXPERTS, height: ROWS, width: COLUMNS, rows: 3, columns: 20 });
      const expected = [1, 2, 3].flatMap((row) => [
        ...data.subarray((2 * ROWS + row) * COLUMNS + 250, (2 * ROWS + row) * COLUMNS + 270),
      ]);
      expect([...page.values], name).toEqual(expected);
    }
    const tensor = file.requireTensor("blk.0.q4_k_exps.weight");
    const outside = pageOfValues(file, tensor, { matrix: 3, row: 0, column: 0, rows: 1, columns: 1 });
    await expect(outside).rejects.toThrow(/matrix of .*: got 3, expected 0 to 2/u);
    await file.close();
  });

  /** Where a scale stands in a block, as ggml's structs have it. */
  const SCALE: Readonly<Record<string, number>> = { q4_k: 0, q8_0: 0, q6_k: 208, q2_k: 80 };

  it.each(Object.keys(SCALE))("names tensor, expert, row and block of a NaN in %s", async (type) => {
    const tensor = `blk.0.${type}_exps.weight`;
    const { elements, bytes: size } = PACKED[type as PackedType];
    const [expert, row, block] = [1, 2, 1];
    const at16 = ((expert * ROWS + row) * (COLUMNS / elements) + block) * size + SCALE[type]!;
    const file = await changed("experts.gguf", tensor, (bytes) => bytes.writeUInt16LE(0x7e00, at16));
    const report = await checkFile(file, { measure });
    expect(report.verdict).toBe("broken");
    const column = block * elements;
    expect(report.findings).toEqual([
      {
        tensor,
        kind: "broken",
        place: { expert, row, column, block },
        sentence: `${elements} NaN, the first in row 2 of expert 1, block 1 (column ${column})`,
      },
    ]);
    expect(report.sentence).toBe(`Broken: ${tensor}: ${report.findings[0]!.sentence}.`);
    expect(report.advice).toMatch(/^Download the file again/u);
    await file.close();
  });

  it("names every expert with a NaN, experts of zeros, rows of zeros, and a tensor of zeros", async () => {
    const tensor = "blk.0.q8_0_exps.weight";
    const expertBytes = (ROWS * COLUMNS * 34) / 32;
    const found = async (change: (bytes: Buffer) => void) => {
      const file = await changed("experts.gguf", tensor, change);
      const { findings } = await checkFile(file, { measure });
      await file.close();
      return findings.map(({ kind, sentence }) => [kind, sentence]);
    };
    expect(
      await found((bytes) => {
        for (const expert of [0, 2]) bytes.writeUInt16LE(0x7c00, expert * expertBytes);
      }),
    ).toEqual([
      ["broken", expect.stringMatching(/ in experts 0 and 2, the first in row 0 of expert 0, block 0 \(column 0\)$/u)],
    ]);
    expect(await found((bytes) => bytes.fill(0, expertBytes, 2 * expertBytes))).toEqual([
      ["broken", "expert 1 is nothing but zeros"],
    ]);
    expect(await found((bytes) => bytes.fill(0, expertBytes / 4, expertBytes / 2))).toEqual([
      ["odd", "1 row of zeros, the first is row 1 of expert 0"],
    ]);
    expect(await found((bytes) => bytes.fill(0))).toEqual([["broken", "nothing but zeros"]]);
  });

  it("checks the folder of a Hugging Face model, by the names that the graph knows", async () => {
    const path = at("folder");
    await writeFolder(path, TOY_FOLDERS[0]!);
    const openFolder = async (): Promise<GgufFile> => {
      const { source, openSibling } = await modelFiles.open(path);
      return openModelFile(source, { openSibling });
    };
    const whole = await openFolder();
    expect((await checkFile(whole, { measure })).verdict).toBe("sound");
    const [columns = 1] = whole.requireTensor("blk.1.ffn_down.weight").dims;
    await whole.close();
    const weights = join(path, "model.safetensors");
    const bytes = await readFile(weights);
    const start = 8 + Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.subarray(8, start).toString()) as Record<
      string,
      { data_offsets: [number, number] }
    >;
    const [offset] = header["model.layers.1.mlp.down_proj.weight"]!.data_offsets;
    bytes.writeFloatLE(-Infinity, start + offset + 4 * (3 * columns + 7));
    await writeFile(weights, bytes);
    const file = await openFolder();
    const { findings } = await checkFile(file, { measure });
    expect(findings).toMatchObject([
      { tensor: "blk.1.ffn_down.weight", sentence: "1 infinite, the first in row 3, column 7" },
    ]);
    await file.close();
  });

  it.each(MEASURES)("finds the worst row behind a row of zeros, %s", async (_, own) => {
    const rows = { type: "f32", columns: 2, histogram: null } as const;
    const bytes = (...values: readonly number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);
    const against = { type: "f32", bytes: bytes(0, 0, 1, 1, 2, 2) } as const;
    const { distance } = await own({ ...rows, bytes: bytes(0, 0, 1, 1, 2, 3), against });
    expect(distance).toMatchObject({ worstRow: 2, worstError: 1, worstEnergy: 8, compared: 6 });
  });

  it("names a row that was replaced, against the file as it was, and a huge value", async () => {
    const tensor = "blk.1.attn_q.weight";
    const random = seededRandom(3).next;
    const file = await changed("exact.gguf", tensor, (bytes) => {
      for (let i = 0; i < 256; i++) bytes.writeFloatLE(random() * 9 - 4, (5 * 256 + i) * 4);
    });
    const against = await open("exact.gguf");
    const { verdict, findings, compared } = await checkFile(file, { measure, against });
    expect([verdict, compared[0]!.tensor]).toEqual(["broken", tensor]);
    expect(findings).toMatchObject([{ tensor, kind: "broken", place: { row: 5, expert: null } }]);
    await file.close();
    const huge = await changed("exact.gguf", tensor, (bytes) => bytes.writeFloatLE(-3e30, 4 * (7 * 256 + 9)));
    expect((await checkFile(huge, { measure })).findings).toMatchObject([
      { tensor, kind: "odd", place: { row: 7, column: 9 }, sentence: expect.stringContaining("-3.00e+30") as string },
    ]);
    await huge.close();
    const sound = await checkFile(against, { measure });
    expect([sound.verdict, sound.findings]).toEqual(["sound", []]);
    await against.close();
  });

  // Blocks of random scales whose codes are all 0, and all 1: ggml's values are the minimum, and one scale more.
  const CODES: Readonly<Partial<Record<PackedType, readonly [from: number, to: number, ones: number]>>> = {
    ...{ q4_0: [2, 18, 0x11], q4_1: [4, 20, 0x11], q5_0: [6, 22, 0x11], q5_1: [8, 24, 0x11], q8_0: [2, 34, 1] },
    ...{ q2_k: [16, 80, 0x55], q4_k: [16, 144, 0x11], q5_k: [48, 176, 0x11], q6_k: [0, 128, 0x11] },
  };
  it.each(Object.entries(CODES))("reads the scales and minimums of %s as ggml does", async (name, [from, to, ones]) => {
    const type = name as PackedType;
    const { bytes: size, elements, factors } = PACKED[type];
    const random = seededRandom(11).next;
    const block = Uint8Array.from({ length: size }, () => Math.floor(256 * random()));
    const view = new DataView(block.buffer);
    for (const place of factors) view.setUint16(place, 0x2c00 + Math.floor(800 * random()), true);
    // High bits of codes stand in front of the low ones, in Q6_K behind them.
    if (type === "q5_0") block.fill(0, 2, 6);
    if (type === "q5_1") block.fill(0, 4, 8);
    if (type === "q5_k") block.fill(0, 16, 48);
    if (type === "q6_k") block.fill(0, 128, 192);
    const withCodes = (code: number): Promise<Float32Array> =>
      ggmlDequantize(type, block.slice().fill(code, from, to), elements);
    const [zero, one] = [await withCodes(0), await withCodes(ones)];
    const groups = blockGroups(type)!;
    const [scales, minimums] = [new Float32Array(groups.count), new Float32Array(groups.count)];
    groups.read(block, 0, scales, minimums);
    for (let i = 0; i < elements; i++) {
      const group = Math.floor(i / (elements / groups.count));
      const scale = one[i]! - zero[i]!;
      expect(Math.abs(scales[group]! - scale), `${i}`).toBeLessThan(1e-5 * (Math.abs(zero[i]!) + Math.abs(scale)));
      if (groups.hasMinimums) expect(minimums[group], `${i}`).toBe(zero[i]);
    }
  });
});

it("knows the scales of every packed type", () => {
  for (const type of PACKED_TYPES) expect(blockGroups(type), type).toBeDefined();
});
