// Two sides against each other, as window and command line get it: files, graphs, routes, numbers, speed, words.
import { copyFile, open as openFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Comparison, CompareInput, Measured } from "../../contract/views/compare.ts";
import type { Subject } from "../../contract/views/cost.ts";
import { numberEntry, stringEntry } from "../../formats/gguf/encode.ts";
import { SAMPLE } from "../../testing/commandFolder.ts";
import { GALLERY } from "../../gallery/gallery.ts";
import type { Harness } from "../../testing/engineHarness.ts";
import { engineHarness } from "../../testing/engineHarness.ts";
import { writeTinyGguf } from "../../testing/tinyGguf.ts";
import { rangesOf } from "./opRows.ts";

const ON_ANE: Subject = {
  backend: "coreml",
  target: { chip: "m4", os: "macos15", units: "cpu-ane", profile: "auto", context: 512 },
};
const ON_ALL: Subject = { ...ON_ANE, target: { ...ON_ANE.target, units: "all" } };
const ON_CPU: Subject = { ...ON_ANE, backend: "cpu" };

let harness: Harness;
beforeAll(async () => {
  harness = await engineHarness();
});
afterAll(() => harness.done());

const open = async (path: string): Promise<string> =>
  (await harness.client.call("model.open", { source: { kind: "path", path } })).model;

async function compared(a: string, b: string, part: Partial<CompareInput> = {}): Promise<Comparison> {
  const sides = { a: { model: a, subject: ON_CPU }, b: { model: b, subject: ON_CPU } };
  const items = await harness.all("compare.run", { ...sides, phase: "decode", ...part });
  const last = items.at(-1);
  if (last?.kind !== "done") throw new Error("no comparison");
  return last.comparison;
}

describe("one file on two targets", () => {
  it("says first how much faster one is, and which ops moved", async () => {
    const model = await open(SAMPLE);
    const found = await compared(model, model, {
      a: { model, subject: ON_ANE },
      b: { model, subject: ON_ALL },
    });
    expect(found.sentences[0]).toMatch(
      /^B is predicted to take less time for a token, .*\(A on Core ML, CPU and Neural Engine, B on Core ML, All units; M4.*, context 512\)\. How many times less is not said: /u,
    );
    expect(found.sentences.length).toBeLessThanOrEqual(6);
    expect(found).toMatchObject({ same: "file", equal: false, tensors: { differing: 0 }, keys: { rows: [] } });
    expect(found.routing?.moved).toBeGreaterThan(100);
    const moved = found.routing?.rows.find(({ op, name }) => op === "linear" && name === "gate");
    expect(moved).toMatchObject({ to: "gpu", count: 4, blocks: "0–3", path: "blk.*/ffn" });
    expect(moved?.reasonB).not.toBe("");
    // The rows are sums over the two routes, so none can be larger than its step.
    for (const { secondsA, secondsB } of found.costs) {
      expect(secondsA ?? 0).toBeLessThanOrEqual(found.routing?.a.step ?? 0);
      expect(secondsB ?? 0).toBeLessThanOrEqual(found.routing?.b.step ?? 0);
    }
    const token = found.numbers.find(({ label }) => label === "A token");
    expect(token?.better).toBe("b");
    const swapped = await compared(model, model, { a: { model, subject: ON_ALL }, b: { model, subject: ON_ANE } });
    expect(swapped.sentences[0]).toMatch(/^A is predicted/u);
    expect(swapped.numbers.find(({ label }) => label === "A token")?.better).toBe("a");
  });
});

describe("a context that is longer than the model's", () => {
  it("is named as it is computed", async () => {
    const model = await open(SAMPLE);
    const subject = { ...ON_CPU, target: { ...ON_CPU.target, context: 4096 } };
    const onAne = { ...ON_ANE, target: { ...ON_ANE.target, context: 4096 } };
    const found = await compared(model, model, { a: { model, subject }, b: { model, subject: onAne } });
    expect(found.sentences[0]).toContain("context 1024)");
    expect(found.a.subject.target.context).toBe(1024);
  });
});

describe("two graphs", () => {
  const opened = async (id: string): Promise<string> => {
    const path = join(harness.folder, `${id}.rlx`);
    await writeFile(path, GALLERY.find((each) => each.id === id)?.text ?? "");
    return open(path);
  };

  it("are compared by a run, without a factor where starting decides, and without a context", async () => {
    const model = await opened("cnn");
    const found = await compared(model, model, { a: { model, subject: ON_ANE }, b: { model, subject: ON_CPU } });
    expect(found.sentences[0]).toMatch(/^B is predicted to take less time for a run, /u);
    expect(found.sentences[0]).toMatch(/How many times less is not said: .*% of a step is starting ops/u);
    expect(found.sentences[0]).not.toContain("context");
    expect(found.numbers.map(({ label }) => label)).toContain("A run");
    const graphs = await compared(model, await opened("fft-filter"));
    expect(graphs.sentences.join(" ")).toMatch(/From A's graph to B's: \d+ ops? (added|removed|changed)/u);
  });
});

describe("two files", () => {
  it("says of a copy that it is the same file and that nothing differs", async () => {
    const copy = join(harness.folder, "copy.gguf");
    await copyFile(SAMPLE, copy);
    const found = await compared(await open(SAMPLE), await open(copy));
    expect(found).toMatchObject({ same: "file", equal: true, graph: { added: 0, removed: 0, changed: 0 } });
    expect(found.sentences).toHaveLength(1);
    expect(found.sentences[0]).toMatch(/^Both are the same file.*Nothing differs: \d+ keys and \d+ tensors/u);
  });

  it("finds other weights behind the same header", async () => {
    const other = join(harness.folder, "tuned.gguf");
    await copyFile(SAMPLE, other);
    const handle = await openFile(other, "r+");
    await handle.write(Buffer.alloc(64, 0x5a), 0, 64, (await stat(other)).size - 64);
    await handle.close();
    const found = await compared(await open(SAMPLE), await open(other));
    expect(found).toMatchObject({ same: "header", equal: false, tensors: { differing: 1 } });
    expect(found.tensors.rows[0]?.numbers).toBe("other");
    expect(found.sentences[0]).toContain("the same header and other weights: 1 of 46 tensors");
  });

  it("lists what a file has more, by block, and keys by their values", async () => {
    const [two, three] = [join(harness.folder, "two.gguf"), join(harness.folder, "three.gguf")];
    await writeTinyGguf(two, { layers: 2, keys: [numberEntry("toy.number", "u32", 1), stringEntry("toy.left", "x")] });
    await writeTinyGguf(three, { layers: 3, keys: [numberEntry("toy.number", "u32", 2)] });
    const found = await compared(await open(two), await open(three));
    expect(found.keys.rows).toEqual(
      expect.arrayContaining([
        { key: "toy.number", a: "1", b: "2" },
        { key: "toy.left", a: "x", b: null },
      ]),
    );
    const added = found.graph?.rows.filter(({ kind }) => kind === "added") ?? [];
    expect(added.length).toBeGreaterThan(3);
    expect(added.every(({ path, a }) => path.startsWith("blk.2") && a === null)).toBe(true);
    expect(found.graph).toMatchObject({ removed: 0 });
    expect(found.tensors.rows.filter(({ a }) => a === null).every(({ name }) => name.startsWith("blk.2."))).toBe(true);
    expect(found.sentences.join(" ")).toMatch(/B has \d+ tensors that A has not/u);
  });

  it("compares the headers of a family that is not known, and says why there is no more", async () => {
    const unknown = join(harness.folder, "unknown.gguf");
    await writeTinyGguf(unknown, { architecture: "nobody" });
    const found = await compared(await open(SAMPLE), await open(unknown));
    expect(found.graph).toBeNull();
    expect(found.b.refusal).not.toBeNull();
    expect(found.sentences[0]).toMatch(/^Take A: B does not run here\. .*nobody/u);
    expect(found.sentences).toContain("They are of different architectures: A is qwen3, B is nobody.");
  });
});

describe("answers and measurements", () => {
  const answer = (text: string, prompt = "Why?") => ({ name: "Chat 1", prompt, text });

  it("says at which token two answers part", async () => {
    const model = await open(SAMPLE);
    const same = "Once upon a time there was a small fox";
    const found = await compared(model, model, { answers: { a: answer(`${same} who ran.`), b: answer(`${same}.`) } });
    const { sameTokens = null } = found.words ?? {};
    const { tokens } = await harness.client.call("tokens.encode", { model, text: same });
    expect(sameTokens).toBeGreaterThanOrEqual(tokens.length - 1);
    expect(found.words?.sentence).toContain(`diverge at token ${(sameTokens ?? 0) + 1}`);
    const equal = await compared(model, model, { answers: { a: answer(same), b: answer(same, "Who?") } });
    expect(equal.words).toMatchObject({
      equal: true,
      samePrompt: false,
      sentence: "The answers are the same. Their prompts differ.",
    });
  });

  it("gives no verdict where something disturbed a measurement, nor in noise", async () => {
    const model = await open(SAMPLE);
    const figure = { value: 10, low: null, high: null, unit: "tokens/s", truth: "measured", basis: "" } as const;
    const state = { at: 0, readings: [] };
    const side = (samples: readonly number[], red: readonly string[] = []): Measured => ({
      ...{ subject: 0, name: "Bench 1" },
      record: {
        subjects: [{ model, title: "S", device: "cpu", threads: 2, kernels: "", truth: "measured" }],
        ...{ machine: "m", system: "s", version: "0", conditions: { before: state, after: state }, red, stopped: null },
        energy: { sentence: "", idle: null, load: null, prefill: null, decode: null },
        tests: [
          {
            ...{ test: "tg", tokens: 32, depth: 0, subject: 0, samples, rate: figure, mean: 10, stddev: 1 },
            ...{ firstToken: null, joulesPerToken: null },
          },
        ],
      },
    });
    const slow = [10, 10.1, 9.9, 10, 10.2, 9.8];
    const found = async (a: Measured, b: Measured): Promise<readonly [string | undefined, string]> => {
      const { speed, sentences } = await compared(model, model, { speed: { a, b, together: false } });
      return [speed?.rows[0]?.kind, sentences.find((sentence) => sentence.includes("measured:")) ?? ""];
    };
    const fast = side(slow.map((each) => 2 * each));
    // Which is faster, then both numbers; without a verdict the numbers come first.
    const numbers = "Writing 32 tokens, measured: A 10 t/s, B 10 t/s.";
    expect(await found(side(slow), fast)).toEqual([
      "faster",
      expect.stringMatching(/^B is 2\.0\d × as fast as A \(95 % interval 1\.\d+ to 2\.\d+\)\. Writing 32 tokens/u),
    ]);
    expect(await found(fast, side(slow))).toEqual(["slower", expect.stringMatching(/^A is 2\.0\d × as fast as B/u)]);
    expect(await found(side(slow), side(slow.toReversed()))).toEqual([
      "even",
      `${numbers} No difference that these repeats can show.`,
    ]);
    expect(await found(side(slow), side(slow, ["Load 9.8"]))).toEqual([
      "not comparable",
      `${numbers} Not comparable because of the conditions: Load 9.8.`,
    ]);
  });
});

it("ends when it is cancelled", async () => {
  const model = await open(SAMPLE);
  const ending = new AbortController();
  ending.abort();
  const asked = { a: { model, subject: ON_ANE }, b: { model, subject: ON_CPU }, phase: "prefill" } as const;
  await expect(harness.all("compare.run", asked, { signal: ending.signal })).rejects.toMatchObject({
    code: "CANCELLED",
  });
});

it("names blocks as ranges", () => {
  expect(rangesOf([3, 1, 2, 7, 2])).toBe("1–3, 7");
  expect(rangesOf([])).toBe("");
});
