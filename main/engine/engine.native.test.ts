/** Every call and stream of the contract over a real engine, each answer checked against its schema. */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createClient } from "../contract/client.ts";
import { contract } from "../contract/contract.ts";
import { createPortPair } from "../contract/port.ts";
import type { TargetSpec } from "../contract/views/common.ts";
import { deviceOf } from "../contract/views/common.ts";
import type { Overview } from "../contract/views/model.ts";
import { isGraphAlone } from "../contract/views/model.ts";
import { pipelineFor } from "../compiler/pipelines.ts";
import type { EngineCounts } from "../ir/session.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import type { PassDiff, Precision } from "../contract/views/graph.ts";
import { BACKENDS, OVERLAYS } from "../contract/views/graph.ts";
import { readRecording, recordingText } from "../contract/recordings/recordingFile.ts";
import { disagreements } from "../testing/agreement.ts";
import { seededRandom } from "../testing/random.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { writeTinyGguf } from "../testing/tinyGguf.ts";
import type { Harness } from "../testing/engineHarness.ts";
import { engineHarness } from "../testing/engineHarness.ts";

const TARGET: TargetSpec = { chip: "m4", os: "macos15", units: "all", profile: "auto", context: 512 };
const PHASES = ["decode", "prefill"] as const;
const COMPLETION = { kind: "completion", text: "the thing" } as const;

let harness: Harness;
let file: string;
beforeAll(async () => {
  harness = await engineHarness();
  file = join(harness.folder, "tiny.gguf");
  await writeTinyGguf(file);
});
afterAll(() => harness.done());

const openPath = (path = file): Promise<Overview> =>
  harness.client.call("model.open", { source: { kind: "path", path } });
const openOffer = (id: string): Promise<Overview> =>
  harness.client.call("model.open", { source: { kind: "offer", id } });
const close = (model: string): Promise<unknown> => harness.client.call("model.close", { model });

describe("the engine about itself", () => {
  it("answers who it is, how it is, and what it finds", async () => {
    const { client } = harness;
    const info = await client.call("engine.info", {});
    expect(info.devices.find(({ id }) => id === "cpu")?.available).toBe(true);
    expect(info.offers.map(({ id }) => id)).toEqual(expect.arrayContaining(["header-only-1b", "demo-hybrid"]));
    expect((await client.call("engine.status", {})).engineBytes).toBeGreaterThan(1e6);
    const { checks } = await client.call("doctor.run", {});
    expect(checks.find(({ title }) => title === "Native engine")?.state).toBe("ok");
    expect(checks.map(({ title }) => title)).toEqual(expect.arrayContaining(["Memory", "Sample model"]));
    const targets = await client.call("targets.list", {});
    expect(targets.chips.map(({ id }) => id)).toContain(targets.initial.chip);
  });

  it("remembers what was opened and forgets it when told", async () => {
    const { client } = harness;
    await client.call("recents.add", { path: file });
    expect((await client.call("recents.list", {})).recents.map(({ path }) => path)).toContain(file);
    await client.call("recents.remove", { path: file });
    expect((await client.call("recents.list", {})).recents).toEqual([]);
  });
});

describe.each(["tiny file", "header-only-1b", "demo-hybrid"])("%s", (name) => {
  let overview: Overview;
  const model = (): string => overview.model;
  beforeAll(async () => {
    overview = name === "tiny file" ? await openPath() : await openOffer(name);
  });
  afterAll(() => close(model()));

  it("has an overview for any context and target", async () => {
    const again = await harness.client.call("model.overview", { model: model(), context: 1024, target: TARGET });
    expect(again).toMatchObject({ model: model(), title: overview.title, target: { chip: "m4" } });
    expect(again.canGraph.ok).toBe(true);
    expect(again.canRun.ok).toBe(name !== "header-only-1b");
  });

  it("lists its metadata and tensors", async () => {
    const { client } = harness;
    if (name === "demo-hybrid") {
      const noFile = { code: "INPUT_ARGUMENT" };
      await expect(client.call("model.metadata", { model: model() })).rejects.toMatchObject(noFile);
      await expect(client.call("model.metadataValue", { model: model(), key: "a" })).rejects.toMatchObject(noFile);
      await expect(client.call("model.tensors", { model: model() })).rejects.toMatchObject(noFile);
      return;
    }
    const metadata = await client.call("model.metadata", { model: model(), query: "block_count" });
    expect(metadata.matched).toBe(1);
    const key = metadata.rows[0]?.key ?? "";
    expect((await client.call("model.metadataValue", { model: model(), key })).items).toEqual([
      name === "tiny file" ? "2" : "16",
    ]);
    const tensors = await client.call("model.tensors", { model: model(), sort: "bytes", descending: true, limit: 3 });
    expect(tensors.rows[0]?.name).toBe("token_embd.weight");
    expect(tensors.total).toBe(overview.file?.tensorCount);
  });

  it.each(PHASES)("has graphs, overlays, nodes, passes and texts of %s", async (phase) => {
    const { client } = harness;
    const stages = [
      { backend: "cpu", step: "built" },
      { backend: "cpu", step: "dead code" },
      { backend: "cpu", step: "legal" },
      { backend: "mlx", step: "legal" },
      { backend: "coreml", step: "simplify", target: TARGET },
      { backend: "coreml", step: "legal", target: TARGET },
    ] as const;
    for (const stage of stages) {
      const key = { model: model(), stage, phase };
      const graph = await client.call("graph.get", key);
      expect(graph.nodeCount).toBeGreaterThan(10);
      expect(graph.nodes.id).toHaveLength(graph.nodeCount);
      expect(graph.edges.start).toHaveLength(graph.nodeCount + 1);
      expect(graph.edges.start[graph.nodeCount]).toBe(graph.edgeCount);
      for (const kind of OVERLAYS) {
        const overlay = await client.call("graph.overlay", { key, kind, target: TARGET });
        expect(overlay.values).toHaveLength(graph.nodeCount);
      }
      for (const node of [0, graph.nodeCount >> 1, graph.nodeCount - 1])
        expect((await client.call("graph.node", { key, node, target: TARGET })).node).toBe(node);
      await expect(client.call("graph.node", { key, node: graph.nodeCount })).rejects.toMatchObject({
        code: "INPUT_ARGUMENT",
      });
      const text = await client.call("text.page", { key, language: "rlx-ir", target: TARGET, lines: 10 });
      expect(text.text.split("\n").length).toBeLessThanOrEqual(11);
    }
    const mil = await client.call("text.page", {
      key: { model: model(), stage: { backend: "coreml", step: "legal", target: TARGET }, phase },
      language: "mil",
      target: TARGET,
    });
    expect(mil.totalLines).toBeGreaterThan(10);
    for (const { backend } of BACKENDS) {
      const asked = { model: model(), backend, phase, target: TARGET };
      const { passes } = await client.call("passes.list", asked);
      expect(passes.map((pass) => pass.name)).toEqual([...pipelineFor(backend).map((pass) => pass.name), "legal"]);
      const changed = passes.find((pass) => pass.changed)?.name ?? "legal";
      for (const pass of new Set([passes[0]?.name ?? "", changed, "legal"]))
        expect((await client.call("passes.diff", { ...asked, pass })).pass).toBe(pass);
    }
    // A graph in halves casts where one in floats does not.
    const built = (precision: Precision): Promise<PassDiff> =>
      client.call("passes.diff", {
        ...{ model: model(), backend: "cpu", phase, target: TARGET, pass: "dead code", full: true },
        precision,
      });
    const [floats, halves] = [await built("f32"), await built("f16")];
    expect(halves.before).toContain("f16");
    expect(halves.before).not.toBe(floats.before);
    await expect(
      client.call("passes.diff", { model: model(), backend: "mlx", phase, target: TARGET, pass: "fuse attention" }),
    ).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
      message:
        "[graph] pass: got fuse attention, expected one of dead code, common subexpressions, control flow, constant folding, simplify, legal",
    });
  });

  // The demo graph has none of these ops.
  if (name !== "demo-hybrid")
    it("shows the graph that each runtime runs, all of it on one device except for Core ML", async () => {
      const { client } = harness;
      for (const [stage, has, hasNot] of [
        [{ backend: "cpu", step: "legal" }, ["linear_block", "attention_block"], ["linear", "rope", "kv_append"]],
        [{ backend: "mlx", step: "legal" }, ["linear", "rope", "kv_append"], ["linear_block", "attention_block"]],
        [{ backend: "coreml", step: "legal", target: TARGET }, ["linear", "kv_append"], ["linear_block", "rope"]],
      ] as const) {
        const key = { model: model(), stage, phase: "decode" } as const;
        const graph = await client.call("graph.get", key);
        const ops = new Set([...graph.nodes.op].map((op) => graph.strings[op]));
        for (const op of has) expect(ops, stage.backend).toContain(op);
        for (const op of hasNot) expect(ops, stage.backend).not.toContain(op);
        const device = await client.call("graph.overlay", { key, kind: "device", target: TARGET });
        const node = await client.call("graph.node", { key, node: graph.nodeCount - 1, target: TARGET });
        const devices = new Set([...device.values].filter((code) => code !== 0).map(deviceOf));
        if (stage.backend === "coreml") expect(devices.size).toBeGreaterThan(0);
        else expect([...devices]).toEqual([stage.backend === "mlx" ? "gpu" : "cpu"]);
        expect(devices).toContain(node.placement?.device);
      }
    });

  it.each(PHASES)("leads from an op of %s to its own lines of MIL, in every stage", async (phase) => {
    const { client } = harness;
    for (const step of ["built", "legal"]) {
      const key = { model: model(), stage: { backend: "coreml", step, target: TARGET }, phase } as const;
      const graph = await client.call("graph.get", key);
      const lowered: number[] = [];
      for (let node = graph.nodeCount - 1; node >= 0 && lowered.length < 3; node -= 5) {
        const view = await client.call("graph.node", { key, node, target: TARGET });
        for (const input of view.inputs) expect(input.label).not.toMatch(/^in \d/);
        if (view.mil === null || view.routed === null) continue;
        lowered.push(node);
        const page = await client.call("text.page", {
          key,
          language: "mil",
          target: TARGET,
          lines: 50,
          around: view.routed,
        });
        const line = page.text.split("\n")[page.nodes.indexOf(view.routed)] ?? "";
        expect(page.nodes).toContain(view.routed);
        expect(line).toContain(" = ");
        // Every operator that is named stands in the text that is shown.
        for (const name of view.mil.operations.slice(0, 10)) expect(view.mil.text).toContain(`${name}(`);
      }
      expect(lowered.length).toBeGreaterThan(0);
    }
  });

  it.each(PHASES)("is routed for %s, with parts that add up to the step", async (phase) => {
    const { client } = harness;
    const route = await client.call("route.get", { model: model(), target: TARGET, phase });
    expect(route.segments.length).toBeGreaterThan(0);
    const parts = [...route.devices, ...route.hops, { seconds: route.cacheSeconds }];
    expect(parts.reduce((sum, { seconds }) => sum + seconds.value, 0)).toBeCloseTo(route.step.value, 12);
    // One model of costs: the same seconds wherever they are asked for.
    const subject = { backend: "coreml", target: TARGET } as const;
    const cost = await client.call("cost.get", { model: model(), subject, phase });
    expect(cost.step).toMatchObject({ value: route.step.value, low: route.step.low, high: route.step.high });
    expect(cost.nodes.seconds).toEqual(route.nodes.seconds);
    // In its line it says of which step.
    const isChunk = phase === "prefill" && !isGraphAlone(overview.kind);
    expect(cost.sentence).toMatch(isChunk ? / a chunk of \d+ tokens, prefill\. / : / a (token|run)\. /);
    const { own, rows: none } = await client.call("verdict.get", { model: model(), subject, rows: "own" });
    expect(none).toEqual([]);
    if (phase === "decode") expect(own.ok && own.speed.token.value).toBe(route.step.value);
    const targets = [TARGET, { ...TARGET, units: "cpu" as const }];
    const { rows } = await client.call("route.compare", { model: model(), phase, targets });
    expect(rows).toHaveLength(2);
    for (const { target, packageBytes } of rows) {
      const { profiles } = await client.call("model.overview", { model: model(), target });
      expect(packageBytes).toEqual(profiles.find(({ chosenFor }) => chosenFor !== null)?.bytes ?? null);
    }
    expect(rows[1]?.devices.filter(({ ops }) => ops > 0).map(({ device }) => device)).not.toContain("ane");
  });

  it("says whether it can be exported, and how", async () => {
    if (name === "demo-hybrid") {
      expect(overview.canExport.ok).toBe(false);
      return;
    }
    const plan = await harness.client.call("export.plan", { model: model(), target: TARGET });
    expect(plan.functions.length).toBe(2);
    expect(plan.can.ok).toBe(name === "tiny file");
  });
});

describe("running", () => {
  it("chats with the file's template, and completes with tokens and statistics", async () => {
    const { client, all } = harness;
    const { model } = await openPath();
    const messages = [{ role: "user" as const, content: "hello" }];
    const template = await client.call("chat.template", { model, messages });
    expect(template).toMatchObject({ origin: "file", rendered: "user: hello\nassistant: " });
    const chat = await all("run.start", { model, prompt: { kind: "chat", messages }, maxTokens: 4 });
    expect(chat.find((item) => item.kind === "start")).toMatchObject({ promptText: "user: hello\nassistant: " });
    for (const device of ["cpu", "coreml-sim"] as const) {
      const greedy = { temperature: 0 };
      const items = await all("run.start", { model, device, prompt: COMPLETION, maxTokens: 6, sampling: greedy });
      const done = items.at(-1);
      expect(done).toMatchObject({ kind: "done" });
      expect(items.filter((item) => item.kind === "token").length).toBeGreaterThan(0);
    }
    await close(model);
  });

  const noMlx = reasonNotFound(findMlxEngine());
  const answersAtOnce = async (device: "cpu" | "mlx"): Promise<void> => {
    const { client, all } = harness;
    const { model } = await openPath();
    const asked = (text: string): Promise<unknown> =>
      all("run.start", {
        ...{ model, device, maxTokens: 20, sampling: { temperature: 0 } },
        prompt: { kind: "completion", text },
      }).then((items) => items.flatMap((item) => (item.kind === "token" ? [item.token.id] : [])));
    const texts = ["hello", "hello there", "one two three", "x"];
    const alone: unknown[] = [];
    for (const text of texts) alone.push(await asked(text));
    const endless = client.stream("run.start", { model, device, prompt: COMPLETION, maxTokens: 4000 });
    for await (const item of endless) {
      if (item.kind !== "token") continue;
      expect(await Promise.all(texts.map(asked))).toEqual(alone);
      break;
    }
    await close(model);
  };
  it("answers several at once, each as if it were alone", () => answersAtOnce("cpu"));
  it.skipIf(noMlx !== undefined)(`on MLX, too ${noMlx ?? ""}`, () => answersAtOnce("mlx"));

  it("measures and profiles", async () => {
    const { all } = harness;
    const { model } = await openPath();
    const bench = await all("bench.run", { model, promptTokens: 8, generateTokens: 4, repeats: 2, warmup: 1 });
    const measured = bench.at(-1);
    expect(measured?.kind === "done" && measured.tests.map(({ samples }) => samples.length)).toEqual([2, 2]);
    const profile = (await all("profile.run", { model, promptTokens: 8, generateTokens: 4 })).at(-1);
    expect(profile?.kind === "done" && profile.profile.slices.start.length).toBeGreaterThan(20);
    await close(model);
  });

  it("records what adds up: sentence, table and lanes agree, and threads work within their instructions", async () => {
    const { all } = harness;
    const { model } = await openPath();
    const random = seededRandom(30);
    for (let run = 0; run < 10; run++) {
      const threads = 1 + (run % 3);
      const asked = { promptTokens: 1 + random.integer(40), generateTokens: 1 + random.integer(12), threads };
      const last = (await all("profile.run", { model, ...asked })).at(-1);
      if (last?.kind !== "done") throw new Error("the profile did not end");
      const { profile } = last;
      expect(disagreements(profile), JSON.stringify(asked)).toEqual([]);
      expect(profile.threads.count).toBe(threads);
      const count = profile.slices.start.length;
      let worked = 0;
      for (const [i, busy] of profile.threads.busy.entries()) {
        expect(busy).toBeLessThanOrEqual((profile.slices.seconds[i % count] ?? 0) + 1e-5);
        worked += busy;
      }
      expect(worked).toBeGreaterThan(0);
      expect(profile.memory.states.at(-1)).toBeGreaterThan(profile.memory.states[0] ?? 0);
      expect(readRecording("it", recordingText(profile))).toEqual(profile);
    }
    await close(model);
  });

  it("measures two in turn until it is decided which is faster, and says so of each test", async () => {
    const { all } = harness;
    const { model } = await openPath();
    const input = {
      model,
      promptTokens: 8,
      generateTokens: 4,
      repeats: 100,
      decideWithin: 20,
      conditions: "warn" as const,
    };
    await expect(all("bench.run", { ...input, threads: [1] })).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    const done = (await all("bench.run", { ...input, threads: [1, 2] })).at(-1);
    if (done?.kind !== "done") throw new Error("the benchmark did not end");
    expect(done.tests.map(({ subject, decision }) => [subject, decision !== undefined])).toEqual([
      ...[
        [0, false],
        [1, true],
        [0, false],
        [1, true],
      ],
    ]);
    const rounds = done.tests.map(({ samples }) => samples.length);
    expect(new Set(rounds).size).toBe(1);
    // Told at a look, or all rounds were done.
    const isOpen = done.tests.some(({ decision }) => decision === "open");
    expect(isOpen || [6, 10, 16, 24, 40, 64, 100].includes(rounds[0]!)).toBe(true);
    await close(model);
  });

  it("measures a matrix in turn, keeps it in the history, and what it had when it is stopped", async () => {
    const { all, client } = harness;
    const { model } = await openPath();
    const matrix = { model, promptTokens: [4, 8], generateTokens: 3, depth: [0, 16], threads: [1, 2] };
    const items = await all("bench.run", { ...matrix, repeats: 2, warmup: 1 });
    const plan = items.find((item) => item.kind === "plan");
    expect(plan?.subjects.map(({ threads }) => threads)).toEqual([1, 2]);
    expect(plan?.cells.map(({ test, tokens, depth, subject }) => `${test} ${tokens} ${depth} ${subject}`)).toEqual(
      [0, 16].flatMap((depth) =>
        ["pp 4", "pp 8", "tg 3"].flatMap((test) => [0, 1].map((on) => `${test} ${depth} ${on}`)),
      ),
    );
    const samples = items.filter((item) => item.kind === "sample");
    expect(samples.map(({ cell }) => cell)).toEqual([0, 1, 2].flatMap(() => plan!.cells.map((_, at) => at)));
    expect(samples.at(-1)).toMatchObject({ done: 36, total: 36, secondsLeft: 0 });
    const done = items.at(-1);
    if (done?.kind !== "done") throw new Error("the benchmark did not end");
    expect(done.tests.filter(({ test }) => test === "tg").map(({ tokenSeconds }) => tokenSeconds)).toHaveLength(4);
    for (const { test, tokens, tokenSeconds, firstToken, samples: rates } of done.tests) {
      expect(tokenSeconds.map((each) => each.length)).toEqual(test === "tg" ? [tokens, tokens] : []);
      // A prompt's first token is there when the prompt is read.
      if (test === "pp") expect(firstToken?.value).toBeCloseTo((tokens / rates[0]! + tokens / rates[1]!) / 2, 9);
    }
    expect((JSON.parse(done.json) as { n_depth: number }[]).map(({ n_depth }) => n_depth)).toEqual(
      [0, 16].flatMap((depth) => Array.from({ length: 6 }, () => depth)),
    );
    const abort = new AbortController();
    const cancelled = async (): Promise<void> => {
      for await (const item of client.stream("bench.run", { ...matrix, repeats: 900 }, { signal: abort.signal }))
        if (item.kind === "sample" && item.index > 2) abort.abort();
    };
    await expect(cancelled()).rejects.toMatchObject({ code: "CANCELLED" });
    const [stopped, whole] = await vi.waitFor(async () => {
      const { entries } = await client.call("history.list", { kind: "bench" });
      const lines = entries.map(({ value }) => value as { stopped: string | null; tests: { samples: number[] }[] });
      expect(lines[0]?.stopped).toBe("It was stopped.");
      return lines;
    });
    expect(whole?.stopped).toBeNull();
    expect(whole?.tests.map((test) => test.samples)).toEqual(done.tests.map((test) => test.samples));
    expect(stopped?.tests[0]?.samples.length).toBeGreaterThan(2);
    const deep = { model, promptTokens: 8, depth: 1_000_000 };
    await expect(all("bench.run", deep)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    await close(model);
  });

  it("runs the demo graph through its parts and agrees with the reference", async () => {
    const { model } = await openOffer("demo-hybrid");
    const held = (): EngineCounts => loadAddon().counts();
    const before = held();
    const run = await harness.client.call("hybrid.run", { model, target: TARGET });
    expect(held()).toEqual(before);
    expect(run.segments.some(({ device }) => device === "host")).toBe(true);
    expect(run.agreement.relativeRms.value).toBeLessThan(0.02);
    await close(model);
  });

  it("exports a package with a report of every weight", async () => {
    const { model } = await openPath();
    const path = join(harness.folder, "tiny.mlpackage");
    const plan = await harness.client.call("export.plan", { model, target: TARGET });
    const done = (await harness.all("export.start", { model, target: TARGET, path })).at(-1);
    expect(done?.kind === "done" && done.weights.length).toBe(24);
    // The window shows both, one after the other.
    expect(done?.kind === "done" && done.bytes).toBe(plan.bytes.value);
    expect(existsSync(join(path, "Manifest.json"))).toBe(true);
    await expect(harness.all("export.start", { model, target: TARGET, path })).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
    });
    await close(model);
  });
});

it("waits at its end for work whose window has gone already", async () => {
  const { engine, folder, done } = await engineHarness();
  const [window, served] = createPortPair();
  engine.connect(served);
  const client = createClient(contract, window);
  const path = join(folder, "slow.gguf");
  await writeTinyGguf(path, { layers: 96 });
  const { model } = await client.call("model.open", { source: { kind: "path", path } });
  const items = client.stream("export.start", { model, target: TARGET, path: join(folder, "left.mlpackage") });
  for (let kind = ""; kind !== "progress";) kind = (await items.next()).value?.kind ?? "progress";
  const packages = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name.includes("left.mlpackage"));
  // The package that is being written, and the claim on its name.
  expect(await packages()).toHaveLength(2);
  items.next().catch(() => undefined);
  window.close("the window is closed");
  // The other side has heard of it before this goes on.
  await Promise.resolve();
  await engine.dispose();
  expect(await packages()).toEqual([]);
  await done();
});

/** How soon is measured in cancel.native.test.ts. */
describe("cancelling", () => {
  it("ends a run with its last report", async () => {
    const { model } = await openPath();
    const abort = new AbortController();
    let last: unknown;
    const run = harness.client.stream(
      "run.start",
      { model, prompt: COMPLETION, maxTokens: 4000, sampling: { temperature: 1 } },
      { signal: abort.signal },
    );
    for await (const item of run) {
      if (item.kind === "token") abort.abort();
      last = item;
    }
    expect(last).toMatchObject({ kind: "done", reason: "cancelled" });
    await close(model);
  });

  it.each(["bench", "profile", "export"] as const)("ends a %s and leaves the model usable", async (what) => {
    const { model } = await openPath();
    const abort = new AbortController();
    const path = join(harness.folder, `cancelled-${what}.mlpackage`);
    const streams = {
      bench: () => harness.client.stream("bench.run", { model, repeats: 1000 }, { signal: abort.signal }),
      profile: () =>
        harness.client.stream(
          "profile.run",
          { model, promptTokens: 2000, generateTokens: 2000 },
          { signal: abort.signal },
        ),
      export: () => harness.client.stream("export.start", { model, target: TARGET, path }, { signal: abort.signal }),
    };
    const consume = async (): Promise<void> => {
      for await (const item of streams[what]()) {
        void item;
        abort.abort();
      }
    };
    await expect(consume()).rejects.toMatchObject({ code: "CANCELLED" });
    expect(existsSync(path)).toBe(false);
    const after = await harness.all("run.start", { model, prompt: COMPLETION, maxTokens: 1 });
    expect(after.at(-1)).toMatchObject({ kind: "done" });
    expect((await harness.client.call("engine.status", {})).jobs).toEqual([]);
    await close(model);
  });
});

describe("handles", () => {
  it("of closed models are unknown", async () => {
    const { client, all } = harness;
    const { model } = await openPath();
    await close(model);
    const unknown = { code: "HANDLE_UNKNOWN" };
    await expect(client.call("model.overview", { model })).rejects.toMatchObject(unknown);
    await expect(all("run.start", { model, prompt: COMPLETION })).rejects.toMatchObject(unknown);
    await expect(close(model)).rejects.toMatchObject(unknown);
  });
});

describe("a file dropped in a browser", () => {
  /** What the window does: gives the ranges that are asked for. */
  async function drop(bytes: Uint8Array, name: string, eachTakes = 0): Promise<Overview> {
    const { client } = harness;
    let need = await client.call("header.begin", { name, size: bytes.byteLength });
    while (need.kind === "more") {
      await new Promise((resolve) => setTimeout(resolve, eachTakes));
      need = await client.call("header.feed", {
        header: need.header,
        offset: need.offset,
        bytes: bytes.subarray(need.offset, need.offset + need.length),
      });
    }
    return client.call("model.open", { source: { kind: "header", header: need.header } });
  }

  it("opens by its header, is not found elsewhere, and runs once it was sent", async () => {
    const { client } = harness;
    const bytes = new Uint8Array(await readFile(file));
    const overview = await drop(bytes, "elsewhere.gguf");
    const { model } = overview;
    expect(overview.canRun).toMatchObject({ ok: false, offer: "locate-or-upload" });
    expect((await client.call("model.locate", { model })).path).toBeNull();

    const { upload, chunkBytes } = await client.call("upload.begin", {
      name: "elsewhere.gguf",
      size: bytes.byteLength,
    });
    await expect(client.call("upload.finish", { upload })).rejects.toMatchObject({ code: "INPUT_TRUNCATED" });
    for (let offset = 0; offset < bytes.byteLength; offset += chunkBytes)
      await client.call("upload.chunk", { upload, offset, bytes: bytes.subarray(offset, offset + chunkBytes) });
    await client.call("upload.finish", { upload });
    const attached = await client.call("model.attach", { model, source: { kind: "upload", upload } });
    expect(attached).toMatchObject({ model, canRun: { ok: true } });
    const run = await harness.all("run.start", { model, prompt: COMPLETION, maxTokens: 2 });
    expect(run.at(-1)).toMatchObject({ kind: "done" });
    await close(model);
  });

  it("says how long the reading took, not only its end", async () => {
    const { model, file: view } = await drop(new Uint8Array(await readFile(file)), "slow.gguf", 40);
    expect(view?.openedIn).toMatchObject({ unit: "seconds", truth: "measured" });
    // Timers may fire a millisecond early.
    expect(view?.openedIn.value).toBeGreaterThan(0.038);
    await close(model);
  });

  it("is found in a folder that is named", async () => {
    const { client } = harness;
    const { model } = await drop(new Uint8Array(await readFile(file)), "tiny.gguf");
    const found = await client.call("model.locate", { model, folder: harness.folder });
    expect(found.path).toBe(file);
    const attached = await client.call("model.attach", { model, source: { kind: "path", path: file } });
    expect(attached.canRun.ok).toBe(true);
    await close(model);
  });

  it("can be taken back half-way, and a wrong range is refused", async () => {
    const { client } = harness;
    const { upload } = await client.call("upload.begin", { name: "x.gguf", size: 100 });
    await expect(client.call("upload.chunk", { upload, offset: 50, bytes: new Uint8Array(10) })).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
    });
    await client.call("upload.cancel", { upload });
    await expect(client.call("upload.finish", { upload })).rejects.toMatchObject({ code: "HANDLE_UNKNOWN" });
  });
});

describe.each([
  ["another architecture", { architecture: "openelm" }, /openelm/],
  ["a mixture of experts", { architecture: "grok", experts: 8 }, /expert/i],
] as const)("%s", (what, shape, names) => {
  it("is named in a sentence, and what needs no graph still works", async () => {
    const { client } = harness;
    const path = join(harness.folder, `${what.replaceAll(" ", "-")}.gguf`);
    await writeTinyGguf(path, shape);
    const overview = await openPath(path);
    expect(overview.canGraph.ok).toBe(false);
    expect(overview.canGraph.ok ? "" : overview.canGraph.sentence).toMatch(names);
    expect(overview.canRun.ok).toBe(false);
    const facts = Object.fromEntries(overview.facts.map(({ label, value }) => [label, value]));
    expect(facts).toMatchObject({ "layers × width": "2 × 64", context: "4096", vocabulary: "258 BPE qwen2" });
    expect(`${facts["architecture"]} ${facts["experts"]} experts`).toMatch(names);
    expect(facts).toMatchObject({ "feed-forward": "128", heads: "4", "kv heads": "2", "head size": "16" });
    // 2 layers × 2 × 2 heads × 16 numbers × 2 bytes a token.
    const [forecast] = overview.forecasts;
    expect(forecast?.fit.rows[1]?.value.value).toBe((forecast?.fit.context ?? 0) * 256);
    const { model } = overview;
    expect((await client.call("model.tensors", { model })).total).toBe(24);
    expect((await client.call("model.metadata", { model })).total).toBeGreaterThan(15);
    const { runs, more } = await client.call("model.blocks", { model });
    expect(runs.map(({ name, blocks, roles }) => [name, blocks, roles.length])).toEqual([
      ["", 1, 2],
      ["blk.0 to blk.1", 2, 11],
    ]);
    expect(more).toBe(0);
    await expect(
      client.call("graph.get", { model, stage: { backend: "cpu", step: "built" }, phase: "decode" }),
    ).rejects.toMatchObject({ code: "UNSUPPORTED_ARCHITECTURE" });
    await close(model);
  });
});
