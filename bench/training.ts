/**
 * Steps of training per second on the CPU engine, against JAX (jit) on the same machine, in turn: two nets of two layers, a small
 * convolutional net and a character transformer, each with AdamW. `--update host` runs the optimiser in TypeScript instead of in
 * the graph; `--device mlx` takes another device.
 *
 *   npx tsx bench/training.ts [--rounds 7] [--seconds 2] [--threads 2] [--device cpu] [--update fused|host] [--only NAME]
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

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    threads: { type: "string", default: "2" },
    device: { type: "string", default: "cpu" },
    update: { type: "string", default: "fused" },
    only: { type: "string" },
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

const peer = spawn(join(root, ".venv/bin/python"), [join(root, "bench/jaxTraining.py")], {
  stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, JAX_PLATFORMS: "cpu" },
});
const answers = createInterface({ input: peer.stdout })[Symbol.asyncIterator]();
async function jaxSeconds({ peer: sizes, prepared }: Case, steps: number): Promise<number> {
  peer.stdin.write(`${JSON.stringify({ ...sizes, weights: shapesOf(prepared), steps })}\n`);
  const { value } = (await answers.next()) as { readonly value: unknown };
  return Number(value) / steps;
}

async function measure(one: Case): Promise<void> {
  const { forward, trainable, initial, batch } = one.prepared;
  const device = trainingDevice(options.device, { threads: Number(options.threads) });
  const made = new TrainingSession(forward, trainable, initial, { device, optimizer: OPTIMIZERS.adamw(), lr: 1e-3 });
  const session = options.update === "host" ? made : made.withFusedOptimizer();
  const ourSeconds = async (steps: number): Promise<number> => {
    const start = performance.now();
    for (let i = 1; i <= steps; i++) await session.step(batch(i));
    return (performance.now() - start) / 1000 / steps;
  };
  await ourSeconds(3);
  const steps = Math.max(3, Math.round(Number(options.seconds) / (await ourSeconds(3))));
  const pairs: { readonly ours: number; readonly jax: number }[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    // Who begins changes, so that a machine that grows hot or slow favours neither.
    const first = round % 2 === 0 ? undefined : await jaxSeconds(one, steps);
    const ours = await ourSeconds(steps);
    pairs.push({ ours, jax: first ?? (await jaxSeconds(one, steps)) });
  }
  await session.dispose();
  const rate = (seconds: readonly number[]): number => 1 / median(seconds);
  const result = {
    net: one.name,
    update: session.fusedActive ? "fused" : "host",
    stepsPerSecond: rate(pairs.map(({ ours }) => ours)),
    jax: rate(pairs.map(({ jax }) => jax)),
    ratio: median(pairs.map(({ ours, jax }) => jax / ours)),
  };
  console.log(JSON.stringify(result));
}

const cases = [
  mlp(128),
  mlp(4096),
  await ofRecipe(digitsRecipe, 32, []),
  await ofRecipe(charactersRecipe, 16, ["layers", "heads", "context"]),
];
for (const one of cases) if (options.only === undefined || one.name.startsWith(options.only)) await measure(one);
peer.stdin.end();
