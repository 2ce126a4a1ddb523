// Where no native engine was built the TypeScript reference answers, says so, and writes what the native engine writes.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Overview } from "../../contract/views/model.ts";
import type { RunItem } from "../../contract/views/run.ts";
import { writeBigFile } from "../../testing/bigGguf.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";

let native: Harness;
let bare: Harness;
beforeAll(async () => {
  native = await engineHarness();
  bare = await engineHarness({ RLX_ADDON: "off" });
});
afterAll(async () => {
  await native.done();
  await bare.done();
});

const sampleIn = ({ client }: Harness): Promise<Overview> =>
  client.call("model.open", { source: { kind: "offer", id: "sample" } });
const pathIn = ({ client }: Harness, path: string): Promise<Overview> =>
  client.call("model.open", { source: { kind: "path", path } });

const GREEDY = { temperature: 0, seed: 1 };
const ask = (harness: Harness, model: string, content: string, maxTokens = 12): Promise<readonly RunItem[]> =>
  harness.all("run.start", {
    model,
    prompt: { kind: "chat", messages: [{ role: "user", content }] },
    sampling: GREEDY,
    maxTokens,
  });
const idsOf = (items: readonly RunItem[]): readonly number[] =>
  items.flatMap((item) => (item.kind === "token" ? [item.token.id] : []));
const startOf = (items: readonly RunItem[]): Extract<RunItem, { kind: "start" }> | undefined =>
  items.find((item) => item.kind === "start");

describe("the sample without a native engine", () => {
  it("writes the native engine's tokens, and says what writes them", async () => {
    const [there, here] = [await sampleIn(native), await sampleIn(bare)];
    for (const question of ["What is the capital of France?", "Who are you?"]) {
      const want = await ask(native, there.model, question);
      const got = await ask(bare, here.model, question);
      expect(idsOf(want).length).toBeGreaterThan(3);
      expect(idsOf(got)).toEqual(idsOf(want));
      expect(startOf(want)?.reference).toBeNull();
      expect(startOf(got)?.reference).toMatchObject({
        sentence: expect.stringMatching(/No native engine was built.*TypeScript reference/) as string,
        secondsPerToken: { unit: "seconds", truth: "predicted" },
      });
    }
  });

  it("is told beforehand: it runs, is not measured, and takes about so long", async () => {
    const there = await sampleIn(native);
    expect(there).toMatchObject({ canRun: { ok: true }, canMeasure: { ok: true }, reference: null });
    const here = await sampleIn(bare);
    expect(here).toMatchObject({ canRun: { ok: true }, canMeasure: { ok: false, code: "ENV_NO_ADDON" } });
    const { low, high } = here.reference?.secondsPerToken ?? {};
    expect([low, high]).toEqual([here.parameters / 2.5e8, here.parameters / 4e7]);
    const { devices } = await bare.client.call("engine.info", {});
    expect(devices.find(({ id }) => id === "cpu")).toMatchObject({
      available: true,
      sentence: expect.stringContaining("TypeScript reference") as string,
    });
    const { checks } = await bare.client.call("doctor.run", {});
    expect(checks.find(({ id }) => id === "addon")).toMatchObject({ state: "missing" });
  });

  it("is exported, and its weights' errors are those of some rows, which is said", async () => {
    const target = { chip: "m2", os: "macos15", units: "all", profile: "gpu", context: 64 } as const;
    const [all, some] = await Promise.all(
      [native, bare].map(async (harness) => {
        const { model } = await sampleIn(harness);
        const path = join(harness.folder, "sample.mlpackage");
        return (await harness.all("export.start", { model, target, path })).at(-1);
      }),
    );
    expect(all).toMatchObject({ sentence: expect.stringMatching(/measured on all elements\.$/) as string });
    expect(some).toMatchObject({
      sentence: expect.stringMatching(
        /measured on 16 rows of each at most, because no native engine was built\.$/,
      ) as string,
    });
  });

  it("is neither benchmarked nor profiled", async () => {
    const { model } = await sampleIn(bare);
    const missing = expect.objectContaining({ code: "ENV_NO_ADDON" }) as Error;
    await expect(bare.all("bench.run", { model })).rejects.toThrow(missing);
    await expect(bare.all("profile.run", { model })).rejects.toThrow(missing);
  });

  it("ends in the middle of a prompt when it is cancelled, and answers again", async () => {
    const { model } = await sampleIn(bare);
    const abort = new AbortController();
    const items: RunItem[] = [];
    const prompt = { kind: "completion", text: "word ".repeat(800) } as const;
    for await (const item of bare.client.stream("run.start", { model, prompt }, { signal: abort.signal })) {
      items.push(item);
      if (item.kind === "phase" && item.name === "read") abort.abort();
    }
    // Of 800 tokens a few were read: the engine had a turn between two operations.
    expect(items.at(-1)).toMatchObject({ kind: "done", reason: "cancelled" });
    expect(idsOf(items)).toEqual([]);
    expect(idsOf(await ask(bare, model, "Who are you?", 2))).toHaveLength(2);
  });
});

it("refuses a large model with the code and what to do", async () => {
  const path = join(bare.folder, "big.gguf");
  writeBigFile(path);
  const overview = await pathIn(bare, path);
  expect(overview.canRun).toMatchObject({
    ok: false,
    code: "ENV_NO_ADDON",
    hint: expect.stringContaining("build:native"),
  });
  const run = bare.all("run.start", {
    model: overview.model,
    prompt: { kind: "completion", text: "a" },
    context: 16,
  });
  await expect(run).rejects.toThrow(
    expect.objectContaining({ code: "ENV_NO_ADDON", hint: expect.stringContaining("build:native") as string }),
  );
});

it("does not stand in for an addon that is named and missing or broken", async () => {
  for (const place of ["/nope/rlx.node", import.meta.filename]) {
    const broken = await engineHarness({ RLX_ADDON: place });
    try {
      const overview = await sampleIn(broken);
      expect(overview).toMatchObject({ canRun: { ok: false, code: "ENV_NO_ADDON" }, reference: null });
      await expect(ask(broken, overview.model, "Who are you?")).rejects.toThrow(
        expect.objectContaining({ code: "ENV_NO_ADDON", hint: expect.stringContaining("RLX_ADDON") as string }),
      );
    } finally {
      await broken.done();
    }
  }
});
