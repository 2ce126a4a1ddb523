/**
 * Steps of training per second on the CPU engine, against JAX (jit) on the same machine, in turn: two nets of two layers, a small
 * convolutional net and a character transformer, each with AdamW. `--update host` runs the optimiser in TypeScript instead of in
 * the graph; `--device mlx` takes another device. `--compare updates` runs fused and host in turn instead of JAX. `--memory` says how
 * much memory steps take instead of how long, beside what they have to hold; one net in a process (`--only`), with --expose-gc.
 *
 *   npx tsx bench/training.ts [--rounds 7] [--seconds 2] [--threads 2] [--device cpu] [--update fused|host] [--only NAME]
 *   npx tsx bench/training.ts --compare updates [--device mlx]
 *   node --expose-gc --import tsx bench/training.ts --memory --only NAME [--device mlx]
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { trainingDevice } from "../main/node/library/index.ts";
import { median } from "../main/runtime/statistics.ts";
import { charactersRecipe } from "../main/training/recipes/characters.ts";
import { digitsRecipe } from "../main/training/recipes/digits.ts";
import { classLoss, firstWeights, net } from "../main/training/recipes/netParts.ts";
import type { Prepared, Recipe } from "../main/training/recipes/recipe.ts";
import { fieldValues } from "../main/training/recipes/recipe.ts";
import { OPTIMIZERS } from "../main/training/optimisers/index.ts";
import { TrainingSession } from "../main/training/session.ts";
import { mostResident, neededBytes, residentNow } from "./support/trainingMemory.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    threads: { type: "string", default: "2" },
    device: { type: "string", default: "cpu" },
    update: { type: "string", default: "fused" },
    only: { type: "string" },
    compare: { type: "string", default: "jax" },
    memory: { type: "boolean", default: false },
  },
});
const root = dirname(dirname(fileURLToPath(import.meta.url)));

interface Case {
  readonly name: string;
  readonly prepared: Pick<Prepared, "forward" | "trainable" | "initial" | "batch">;
  /** What the other side builds the same net from. */
  readonly peer: Readonly<Record<string, string | number>>;
}

const BATCH = 128;

function mlp(hidden: number): Case {
  const plan = [
    { name: "hidden.weight", shape: [hidden, 784], within: 0.05 },
    { name: "hidden.bias", shape: [hidden], within: 0 },
    { name: "head.weight", shape: [10, hidden], within: 0.05 },
    { name: "head.bias", shape: [10], within: 0 },
  ];
  const forward = net("mlp", ({ g, input, output }) => {
    const [w1, b1, w2, b2] = plan.map(({ name, shape }) => input(name, `f32[${shape.join(",")}]`));
    if (w1 === undefined || b1 === undefined || w2 === undefined || b2 === undefined) throw new Error("four weights");
    const x = g.relu([g.add([g.linear([input("x", `f32[${BATCH},784]`), w1]), b1])]);
    const logits = g.add([g.linear([x, w2]), b2]);
    output("loss", classLoss(g, logits, input("labels", `i32[${BATCH}]`)));
  });
  const x = Float32Array.from({ length: BATCH * 784 }, (_, i) => ((i * 7919) % 997) / 997);
  const labels = Int32Array.from({ length: BATCH }, (_, i) => i % 10);
  return {
    name: `mlp 784-${hidden}-10`,
    prepared: {
      forward,
      trainable: plan.map(({ name }) => name),
      initial: firstWeights(plan, 1),
      batch: () => ({ x, labels }),
    },
    peer: { net: "mlp", batch: BATCH },
  };
}

async function ofRecipe(recipe: Recipe, batch: number, sizes: readonly string[]): Promise<Case> {
  const fields = fieldValues(recipe, {});
  const prepared = await recipe.prepare({ fields, batch, seed: 1, share: 0, pace: () => Promise.resolve() });
  const words = prepared.metadata["words"];
  return {
    name: `${recipe.id}, ${prepared.parameters} parameters`,
    prepared,
    peer: {
      net: recipe.id,
      batch,
      ...Object.fromEntries(sizes.map((size) => [size, Number(fields[size])])),
      ...(words === undefined ? {} : { words: Number(words) }),
    },
  };
}

const shapesOf = ({ forward, trainable }: Case["prepared"]): Readonly<Record<string, readonly unknown[]>> =>
  Object.fromEntries(
    forward.nodes
      .filter(({ attrs }) => trainable.includes(String(attrs["name"])))
      .map(({ attrs, outputs }) => [String(attrs["name"]), outputs[0]?.shape ?? []]),
  );

const usesPeer = options.compare === "jax" && !options.memory;
const peer = usesPeer ? startPeer() : undefined;
function startPeer() {
  return spawn(join(root, ".venv/bin/python"), [join(root, "bench/jaxTraining.py")], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, JAX_PLATFORMS: "cpu" },
  });
}
const answers = peer && createInterface({ input: peer.stdout })[Symbol.asyncIterator]();
async function jaxSeconds({ peer: sizes, prepared }: Case, steps: number): Promise<number> {
  if (peer === undefined || answers === undefined) throw new Error("JAX was not started");
  peer.stdin.write(`${JSON.stringify({ ...sizes, weights: shapesOf(prepared), steps })}\n`);
  const { value } = (await answers.next()) as { readonly value: unknown };
  return Number(value) / steps;
}

type Update = "fused" | "host";
const device = () => trainingDevice(options.device, { threads: Number(options.threads) });

function sessionOf({ prepared: { forward, trainable, initial } }: Case, update: string): TrainingSession {
  const config = { device: device(), optimizer: OPTIMIZERS.adamw(), lr: 1e-3 };
  const made = new TrainingSession(forward, trainable, initial, config);
  return update === "host" ? made : made.withFusedOptimizer();
}

/** Takes steps, and gives the seconds of one. */
async function stepsOf(session: TrainingSession, { prepared: { batch } }: Case, steps: number): Promise<number> {
  const start = performance.now();
  for (let i = 1; i <= steps; i++) await session.step(batch(i));
  return (performance.now() - start) / 1000 / steps;
}

const rate = (seconds: readonly number[]): number => 1 / median(seconds);

/** Rounds of a session and another side, whose seconds of a step are given for a number of steps. */
async function inTurn(
  one: Case,
  session: TrainingSession,
  other: (steps: number) => Promise<number>,
): Promise<{ readonly ours: number; readonly theirs: number; readonly ratio: number }> {
  await stepsOf(session, one, 3);
  const steps = Math.max(3, Math.round(Number(options.seconds) / (await stepsOf(session, one, 3))));
  const pairs: { readonly ours: number; readonly theirs: number }[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    // The first one changes, so that a machine that grows hot or slow favours neither.
    const first = round % 2 === 0 ? undefined : await other(steps);
    const ours = await stepsOf(session, one, steps);
    pairs.push({ ours, theirs: first ?? (await other(steps)) });
  }
  return {
    ours: rate(pairs.map(({ ours }) => ours)),
    theirs: rate(pairs.map(({ theirs }) => theirs)),
    ratio: median(pairs.map(({ ours, theirs }) => theirs / ours)),
  };
}

async function measure(one: Case): Promise<void> {
  const session = sessionOf(one, options.update);
  const { ours, theirs, ratio } = await inTurn(one, session, (steps) => jaxSeconds(one, steps));
  await session.dispose();
  const update: Update = session.fusedActive ? "fused" : "host";
  console.log(JSON.stringify({ net: one.name, update, stepsPerSecond: ours, jax: theirs, ratio }));
}

async function compareUpdates(one: Case): Promise<void> {
  const [fused, host] = [sessionOf(one, "fused"), sessionOf(one, "host")];
  await stepsOf(host, one, 3);
  const { ours, theirs, ratio } = await inTurn(one, fused, (steps) => stepsOf(host, one, steps));
  const { fusedActive } = fused;
  await Promise.all([fused.dispose(), host.dispose()]);
  console.log(JSON.stringify({ net: one.name, device: options.device, fusedActive, fused: ours, host: theirs, ratio }));
}

/** AdamW has two moments. */
const MOMENTS = 2;
const MEBI = 2 ** 20;

async function measureMemory(one: Case): Promise<void> {
  const { forward, trainable } = one.prepared;
  const needed = neededBytes(forward, trainable, MOMENTS);
  // What the first session of a process brings with it: code, threads, buffers of the device.
  const warm = sessionOf(mlp(16), options.update);
  await stepsOf(warm, mlp(16), 3);
  await warm.dispose();
  const before = residentNow();
  const session = sessionOf(one, options.update);
  await stepsOf(session, one, 3);
  const after = residentNow();
  const most = await mostResident(async () => void (await stepsOf(session, one, 20)));
  await session.dispose();
  const whole = needed.parameters + needed.moments + needed.gradients + needed.activations;
  const inMebi = (bytes: number): number => Number((bytes / MEBI).toFixed(1));
  const { parameters, moments, gradients, activations } = needed;
  console.log(
    JSON.stringify({
      ...{ net: one.name, device: options.device, update: session.fusedActive ? "fused" : "host" },
      ...{ parameters: inMebi(parameters), moments: inMebi(moments), gradients: inMebi(gradients) },
      ...{ activations: inMebi(activations), whole: inMebi(whole) },
      ...{ held: inMebi(after - before), peak: inMebi(most - before) },
      ratio: Number(((most - before) / whole).toFixed(2)),
    }),
  );
}

const cases = [
  mlp(128),
  mlp(4096),
  await ofRecipe(digitsRecipe, 32, []),
  await ofRecipe(charactersRecipe, 16, ["layers", "heads", "context"]),
];
const work = options.memory ? measureMemory : usesPeer ? measure : compareUpdates;
for (const one of cases) if (options.only === undefined || one.name.startsWith(options.only)) await work(one);
peer?.stdin.end();
