/** The numbers in tensors over the contract: statistics, pages, the check of damaged files in every container, and its cancel. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SAMPLE } from "../../testing/commandFolder.ts";
import { writeDamaged } from "../../testing/damagedFile.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

const TENSOR = "blk.2.attn_k.weight";
/** Row 9 has 8 blocks of 34 bytes; the scale of its block 3. */
const SCALE = (9 * 8 + 3) * 34;
const SENTENCE = "32 NaN, the first in row 9, block 3 (column 96)";

let harness: Harness;
const at = (name: string): string => join(harness.folder, name);
const open = async (path: string): Promise<string> =>
  (await harness.client.call("model.open", { source: { kind: "path", path } })).model;

beforeAll(async () => {
  harness = await engineHarness();
  await writeDamaged(SAMPLE, at("damaged.gguf"), TENSOR, (bytes) => bytes.writeUInt16LE(0x7e00, SCALE));
});
afterAll(() => harness.done());

describe("the check of a file", () => {
  it("names tensor, row and block, and the file that it differs from", async () => {
    const model = await open(at("damaged.gguf"));
    const items = await harness.all("tensors.check", { model, against: SAMPLE });
    expect(items[0]).toMatchObject({ kind: "progress", done: 0, of: 46 });
    const finding = { tensor: TENSOR, kind: "broken", sentence: SENTENCE };
    expect(items.filter(({ kind }) => kind === "finding")).toMatchObject([{ finding }]);
    expect(items.at(-1)).toMatchObject({
      ...{ kind: "done", verdict: "broken", sentence: `Broken: ${TENSOR}: ${SENTENCE}.`, findings: [finding] },
      ...{ tensors: 46, unread: 0, moreFindings: 0 },
    });
  });

  it("reads parts of a split file, and names the part", async () => {
    const model = await open(at("damaged.gguf"));
    await harness.all("convert.run", { model, path: at("parts.gguf"), splitTensors: 16 });
    const split = await open(at("parts-00001-of-00003.gguf"));
    expect((await harness.all("tensors.check", { model: split })).at(-1)).toMatchObject({
      ...{ verdict: "broken", findings: [{ tensor: TENSOR, sentence: SENTENCE }] },
      advice: expect.stringMatching(/^Download parts-0000\d-of-00003\.gguf again/u) as string,
    });
  });

  it("ends soon when it is cancelled, and can be asked again", async () => {
    const model = await open(SAMPLE);
    const stop = new AbortController();
    const checking = harness.all("tensors.check", { model }, { signal: stop.signal });
    stop.abort();
    await expect(checking).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await harness.client.call("engine.status", {})).jobs).toEqual([]);
    expect((await harness.all("tensors.check", { model })).at(-1)).toMatchObject({ verdict: "sound" });
  });

  it("refuses a header without data, and another file that is none", async () => {
    const { model } = await harness.client.call("model.open", { source: { kind: "offer", id: "header-only-1b" } });
    await expect(harness.all("tensors.check", { model })).rejects.toThrow(/header without data/u);
    const sample = await open(SAMPLE);
    await expect(harness.all("tensors.check", { model: sample, against: at("none.gguf") })).rejects.toThrow(
      /none\.gguf/u,
    );
  });
});

describe("one tensor", () => {
  it("has statistics with its findings, scales and difference", async () => {
    const model = await open(at("damaged.gguf"));
    const last = (await harness.all("tensors.statistics", { model, tensor: TENSOR, bars: 9, against: SAMPLE })).at(-1);
    expect(last).toMatchObject({
      kind: "done",
      statistics: {
        ...{ type: "Q8_0", nans: 32, firstNotFinite: { row: 9, expert: null, column: 96, block: 3 } },
        ...{ scales: [{ what: "scale", count: 1023, notFinite: 1 }], difference: { relative: 0, rmse: 0 } },
        findings: [{ sentence: SENTENCE }],
      },
    });
  });

  it("has pages of values, NaN among them", async () => {
    const model = await open(at("damaged.gguf"));
    const page = await harness.client.call("tensors.values", {
      model,
      tensor: TENSOR,
      row: 9,
      column: 94,
      rows: 1,
      columns: 3,
    });
    expect(Array.from(page.values, Number.isFinite)).toEqual([true, true, false]);
    const outside = harness.client.call("tensors.values", { model, tensor: TENSOR, row: 128 });
    await expect(outside).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    const unknown = harness.client.call("tensors.values", { model, tensor: "nosuch" });
    await expect(unknown).rejects.toMatchObject({ code: "INPUT_MISSING_TENSOR" });
  });
});

describe("the comparison with another file", () => {
  const coreml = { chip: "m4", os: "macos26", units: "cpu-ane", profile: "auto", context: 512 } as const;

  it("gives each tensor's error with progress, and the list sorts and sums by it", async () => {
    const model = await open(SAMPLE);
    await harness.all("quantize.run", { model, path: at("small.gguf"), recipe: "q4_0" });
    const small = await open(at("small.gguf"));
    const items = await harness.all("tensors.compare", { model: small, against: SAMPLE });
    expect(items[0]).toMatchObject({ kind: "progress", done: 0, of: 46 });
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("the comparison did not end");
    expect([done.rows.length, done.left, done.onlyThere, done.moreRows]).toEqual([46, [], [], 0]);
    expect(done.sentence).toMatch(
      /^46 tensors: [\d.]+ % \([\d.]+ dB\) away from .*\.gguf over all\. \d+ of them are the same\.$/u,
    );
    const worst = done.rows.toSorted((a, b) => b.relative! - a.relative!)[0]!;
    const sorted = { model: small, sort: "error", descending: true, limit: 1 } as const;
    const { rows } = await harness.client.call("model.tensors", { ...sorted, against: SAMPLE });
    expect(rows[0]!.name).toBe(worst.tensor);
    const { groups, sum } = await harness.client.call("tensors.groups", {
      model: small,
      group: "role",
      against: SAMPLE,
    });
    expect(sum.error).toBeCloseTo(done.sum.relative!, 12);
    expect(groups.find(({ key }) => key === "attn_norm")!.error).toBe(0);
    const unknown = await harness.client.call("tensors.groups", { model: small, group: "none", against: at("other") });
    expect(unknown.sum.error).toBeNull();
  });

  it("is cancelled, and leaves no job", async () => {
    const model = await open(SAMPLE);
    const stop = new AbortController();
    const comparing = harness.all("tensors.compare", { model, against: SAMPLE }, { signal: stop.signal });
    stop.abort();
    await expect(comparing).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await harness.client.call("engine.status", {})).jobs).toEqual([]);
  });

  it("says how each subject holds tensors: the bytes of the forecast, the file's and MLX's", async () => {
    const model = await open(SAMPLE);
    const sums = async (backend: "cpu" | "mlx" | "coreml", target: object = coreml) => {
      const held = { subject: { backend, target: { ...coreml, ...target } }, phase: "decode" } as const;
      const { sum } = await harness.client.call("tensors.groups", { model, group: "form", held });
      const { rows } = await harness.client.call("model.tensors", { model, held, limit: 100 });
      expect(rows.reduce((all, row) => all + row.held!.bytes, 0)).toBeCloseTo(sum.heldBytes!, 3);
      return { sum, form: (name: string) => rows.find((row) => row.name === name)!.held!.form };
    };
    const cpu = await sums("cpu");
    expect([cpu.sum.heldBytes, cpu.form("blk.0.attn_q.weight")]).toEqual([cpu.sum.bytes, "q8_0, as in the file"]);
    const mlx = await sums("mlx");
    expect(mlx.form("blk.0.attn_q.weight")).toBe("affine, 8 bits, groups of 32, scale and bias in f32");
    const ane = await sums("coreml");
    expect(ane.form("blk.0.attn_q.weight")).toBe("fp16, unpacked");
    const packed = await sums("coreml", { units: "cpu-gpu" });
    expect(packed.form("blk.0.attn_q.weight")).toBe("int8, fp16 scale per 32");
    expect(packed.sum.heldBytes).toBeLessThan(ane.sum.heldBytes!);
    const { profiles } = await harness.client.call("model.overview", { model, context: 512, target: coreml });
    const said = (profile: string): number => profiles.find((each) => each.profile === profile)!.bytes.value;
    expect(ane.sum.heldBytes! / said("ane")).toBeCloseTo(1, 1);
    expect(packed.sum.heldBytes! / said("gpu")).toBeCloseTo(1, 1);
  });
});
