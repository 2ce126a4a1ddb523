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
