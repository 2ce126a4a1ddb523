/**
 * `npm run record`: asks the real engine what the window asks (the sample model and the demo graph) and writes the answers to
 * renderer/engine/recorded/recording.json. The window's tests and `?recorded` replay them. Needs the built addon; takes seconds.
 */
import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { encodeFrame } from "../contract/codec.ts";
import type { Contract, Input, Output, StreamInputOf } from "../contract/contract.ts";
import { contract } from "../contract/contract.ts";
import type { CallName, StreamName } from "../contract/define.ts";
import { targetSpec } from "../contract/views/common.ts";
import { BACKENDS, BUILT, LEGAL, OVERLAYS, ROUTED, routedStage, stageOn } from "../contract/views/graph.ts";
import type { Overview } from "../contract/views/model.ts";
import { toWireError } from "../diagnostics/errors.ts";
import { engineHarness } from "./engineHarness.ts";
import { DEMO_OFFER } from "../contract/views/engine.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const file = join(root, "renderer/engine/recorded/recording.json");
const PHASES = ["decode", "prefill"] as const;

type Answer = { readonly output: unknown } | { readonly error: unknown };
interface Recorded {
  readonly method: string;
  readonly input: unknown;
  readonly answer: Answer;
}

const harness = await engineHarness({ RLX_CACHE: "off" });
const { client } = harness;
const recorded: Recorded[] = [];

/** What is refused is an answer, too. */
async function record<T>(method: string, input: unknown, asked: Promise<T>): Promise<T | null> {
  try {
    const output = await asked;
    recorded.push({ method, input, answer: { output } });
    return output;
  } catch (error) {
    recorded.push({ method, input, answer: { error: toWireError(error) } });
    return null;
  }
}

const call = <K extends CallName<Contract>>(method: K, input: Input<K>): Promise<Output<K> | null> =>
  record(method, input, client.call(method, input));

const stream = async <K extends StreamName<Contract>>(method: K, input: StreamInputOf<K>): Promise<void> =>
  void (await record(method, input, harness.all(method, input)));

async function recordModel(overview: Overview): Promise<void> {
  const { model, target } = overview;
  await call("model.overview", { model, target });
  for (const units of targetSpec.shape.units.options)
    for (const phase of PHASES)
      await call("route.get", { model, backend: "coreml", target: { ...target, units }, phase });
  for (const phase of PHASES) {
    for (const { backend, lowered } of BACKENDS) {
      if (backend !== ROUTED.backend) await call("route.get", { model, backend, target, phase });
      const steps = new Set([BUILT, LEGAL]);
      const passes = (await call("passes.list", { model, backend, phase, target }))?.passes ?? [];
      for (const [at, { name, changed }] of passes.entries())
        if (changed) {
          for (const each of passes.slice(Math.max(0, at - 1), at + 1)) steps.add(each.name);
          await call("passes.diff", { model, backend, phase, target, pass: name });
        }
      for (const step of steps) await call("graph.get", { model, stage: stageOn(backend, step, target), phase });
      const key = { model, stage: stageOn(backend, LEGAL, target), phase };
      for (const language of ["rlx-ir", lowered.language] as const) {
        await call("text.page", { key, language, target, lines: 200 });
        await call("text.find", { key, language, target, query: "linear" });
      }
    }
    for (const { backend } of BACKENDS) await stream("passes.steps", { model, backend, phase, target });
    await call("passes.bisect", { model, backend: ROUTED.backend, phase, target, watched: "seconds", from: null });
    await call("route.mlx", { model, phase, context: target.context });
  }
  const key = { model, stage: routedStage(ROUTED.backend, target), phase: "decode" } as const;
  for (const kind of OVERLAYS) await call("graph.overlay", { key, kind, target });
  const view = await call("graph.get", key);
  for (let node = 0; node < (view?.nodeCount ?? 0); node++) await call("graph.node", { key, node, target });
  const units = targetSpec.shape.units.options.map((each) => ({ ...target, units: each }));
  await call("route.compare", { model, phase: "decode", targets: units });
  await call("route.planned", { model, target, phase: "decode" });
  const subjects = BACKENDS.flatMap(({ backend }) =>
    (backend === "coreml" ? units : [target]).map((each) => ({ backend, target: each })),
  );
  for (const subject of subjects) {
    for (const phase of PHASES) {
      await call("cost.get", { model, subject, phase });
      const asked = { model, ...subject, phase };
      const { advices = [] } = (await call("advice.list", asked)) ?? {};
      for (const { rule } of advices) await call("advice.preview", { ...asked, rule });
    }
    for (const rows of ["own", "all"] as const) await call("verdict.get", { model, subject, rows });
  }
  await call("export.plan", { model, target });
  await call("devices.advise", { model });
  await stream("export.start", { model, target, path: join(harness.folder, `${overview.title}.mlpackage`) });
}

for (const method of [
  "engine.info",
  "engine.status",
  "doctor.run",
  "compiles.list",
  "recents.list",
  "preferences.get",
  "targets.list",
  "machine.state",
] as const)
  await call(method, {});
await stream("models.find", {});
await call("train.recipes", {});
await call("train.runs", {});
await call("train.plan", { recipe: "linear" });
const sample = await call("model.open", { source: { kind: "offer", id: "sample" } });
if (sample === null) throw new Error("the sample model could not be opened");
await recordModel(sample);
const { model } = sample;
await call("model.metadata", { model });
await call("model.tensors", { model });
for (const group of ["none", "layer"] as const) await call("tensors.groups", { model, group });
await call("model.weightErrors", { model });
const tensor = "blk.0.attn_k.weight";
await stream("tensors.statistics", { model, tensor });
await call("tensors.values", { model, tensor, rows: 24, columns: 12 });
await stream("tensors.check", { model });
const smaller = join(harness.folder, "smaller.gguf");
await harness.all("quantize.run", { model, path: smaller, recipe: "q4_0" });
await stream("tensors.compare", { model, against: smaller });
await call("chat.template", { model });
const messages = [{ role: "user", content: "Tell me a long story about a fox." }] as const;
const sampling = { temperature: 0, seed: 42 };
await stream("run.start", { model, prompt: { kind: "chat", messages }, sampling, maxTokens: 120 });
await stream("bench.run", { model, promptTokens: 32, generateTokens: 8, conditions: "warn" });
await stream("profile.run", { model, promptTokens: 16, generateTokens: 4 });
const demo = await call("model.open", { source: { kind: "offer", id: DEMO_OFFER } });
if (demo === null) throw new Error("the demo graph could not be opened");
await recordModel(demo);
await call("hybrid.run", { model: demo.model, target: demo.target });

/** Removes paths of the recording machine. */
const places = [
  [harness.folder, "~/rlx"],
  [root.replace(/\/$/, ""), "~/workbench"],
  [process.env["HOME"] ?? "~", "~"],
  [hostname(), "this-machine"],
] as const;
function withoutPlaces(value: unknown): unknown {
  if (typeof value === "string") return places.reduce((text, [place, name]) => text.replaceAll(place, name), value);
  if (Array.isArray(value)) return value.map(withoutPlaces);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutPlaces(each)]));
}

const frame = gzipSync(encodeFrame({ answers: withoutPlaces(recorded) }), { level: 9 }).toString("base64");
await writeFile(file, `${JSON.stringify({ contract: contract.version, answers: recorded.length, frame }, null, 2)}\n`);
await harness.done();
console.log(`${recorded.length} answers, ${Math.round(frame.length / 1024)} KiB`);
process.exit(0);
