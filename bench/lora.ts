// What a LoRA of a model's file costs, and whether it learns: loss on a text that it trains on and on one that it does not, steps a
// second, and peak memory of the process. The text is a file, cut in two: the last tenth is for validation.
//   npx tsx bench/lora.ts [MODEL.gguf] [--text FILE] [--bytes 20000] [--steps 100] [--batch 4] [--context 64] [--rank 8]
//     [--lr 0.001] [--device cpu] [--host] [--random]
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { batchOf, loraTuning, openModel, sampleModel, trainingDevice } from "../main/node/library/index.ts";
import { numbersIn } from "../main/ir/hostBytes.ts";
import { adamw } from "../main/training/optimisers/adam.ts";
import { TrainingSession } from "../main/training/session.ts";
import { median, seededRandom } from "../main/runtime/statistics.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    text: { type: "string", default: fileURLToPath(new URL("../README.md", import.meta.url)) },
    bytes: { type: "string", default: "20000" },
    steps: { type: "string", default: "100" },
    batch: { type: "string", default: "4" },
    context: { type: "string", default: "64" },
    rank: { type: "string", default: "8" },
    lr: { type: "string", default: "0.001" },
    device: { type: "string", default: "cpu" },
    host: { type: "boolean", default: false },
    random: { type: "boolean", default: false },
  },
});
const [context, batch, steps] = [options.context, options.batch, options.steps].map(Number) as [number, number, number];

const model = await openModel(positionals[0] ?? sampleModel());
const text = readFileSync(options.text).subarray(0, Number(options.bytes)).toString("utf8");
const draw = seededRandom(2);
/** A file without a vocabulary can be measured all the same. */
const ids = options.random
  ? Int32Array.from({ length: Number(options.bytes) / 4 }, () => Math.floor(draw() * 1000))
  : await model.encode(text);
const cut = Math.floor(ids.length * 0.9);
const windowsOf = (from: number, to: number): Int32Array[] =>
  Array.from({ length: Math.floor((to - from - 1) / context) }, (_, i) =>
    ids.subarray(from + i * context, from + (i + 1) * context + 1),
  );
const [learned, held] = [windowsOf(0, cut), windowsOf(cut, ids.length)];

const started = performance.now();
const tuning = loraTuning(model.file, { context, batch, rank: Number(options.rank) });
const device = trainingDevice(options.device, { model });
const session = new TrainingSession(tuning.graph, tuning.trainable, tuning.initial, {
  device,
  optimizer: adamw(),
  lr: Number(options.lr),
});
if (!options.host) session.withFusedOptimizer();
const looking = await device.open(tuning.graph, "f32");

async function lossOf(windows: readonly Int32Array[]): Promise<number> {
  const params = await session.params();
  const weights = Object.fromEntries(Object.entries(params).map(([name, { data }]) => [name, Float32Array.from(data)]));
  const losses: number[] = [];
  for (let i = 0; i < windows.length; i += batch) {
    const given = windows.slice(i, i + batch).map((tokens) => ({ tokens }));
    const { loss } = await looking.run({ ...weights, ...batchOf(tuning, given) }, ["loss"]);
    losses.push(loss === undefined ? NaN : (numbersIn(loss.dtype, loss.bytes)[0] ?? NaN));
  }
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

const before = { learned: await lossOf(learned), held: await lossOf(held) };
const random = seededRandom(1);
const seconds: number[] = [];
for (let step = 0; step < steps; step++) {
  const given = Array.from({ length: batch }, () => ({
    tokens: learned[Math.floor(random() * learned.length)] ?? new Int32Array(),
  }));
  const begun = performance.now();
  await session.step(batchOf(tuning, given));
  if (step > 0) seconds.push((performance.now() - begun) / 1000);
}
const after = { learned: await lossOf(learned), held: await lossOf(held) };
await looking.dispose();
await session.dispose();
await model.close();

const middle = median(seconds);
console.log(
  JSON.stringify(
    {
      machine: `${cpus()[0]?.model ?? "?"}, ${cpus().length} threads`,
      model: model.path.replace(/^.*[/\\]/u, ""),
      ...{ device: options.device, fused: !options.host, context, batch, steps, rank: Number(options.rank) },
      trained: Object.values(tuning.initial).reduce((sum, { length }) => sum + length, 0),
      tokens: ids.length,
      ...{ before, after },
      stepsPerSecond: Number((1 / middle).toFixed(3)),
      tokensPerSecond: Math.round((batch * context) / middle),
      allSeconds: Math.round((performance.now() - started) / 1000),
      peakMegabytes: Math.round(process.resourceUsage().maxRSS / 1024),
    },
    undefined,
    2,
  ),
);
