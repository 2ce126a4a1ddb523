/**
 * Whole models on the reference evaluator against llama.cpp: the same file, the same tokens,
 * log-probabilities of the whole vocabulary at every position. This checks the model builders, rope
 * and its scalings, and the cache.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { finish } from "../ir/steps.ts";
import { requireDecoder } from "./architecture.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { weightSourceOf } from "../formats/gguf/weightSource.ts";
import { dequantize } from "../formats/quant/dequantize.ts";
import type { Graph } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostScalar, hostTensor } from "../ir/hostTensor.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { rewrite } from "../ir/rewrite.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable } from "../ops/index.ts";
import { llamaLogprobs, llamaMissing } from "../testing/llama.ts";
import { writeRandomModel } from "../testing/randomModel.ts";
import { seededRandom } from "../testing/random.ts";
import { INPUTS, LOGITS } from "./blocks.ts";

const folder = mkdtempSync(join(tmpdir(), "models-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function makeModel(name: string, preset: string, options: readonly string[]): Promise<string> {
  const path = join(folder, `${name}.gguf`);
  await writeRandomModel("--preset", preset, "--out", path, ...options);
  return path;
}

async function readWeights(file: GgufFile): Promise<ReadonlyMap<string, HostTensor>> {
  const weights = new Map<string, HostTensor>();
  for (const tensor of file.tensors) {
    const bytes = await file.readTensor(tensor);
    const numbers = dequantize(tensor.type.element!, bytes, tensor.elements);
    weights.set(tensor.name, hostTensor("f32", tensor.shape, numbers));
  }
  return weights;
}

/** Rows of log-probabilities, running `steps` tokens at a time. */
function run(
  graph: Graph,
  weights: ReadonlyMap<string, HostTensor>,
  tokens: readonly number[],
  steps: readonly number[],
) {
  const rows: Float64Array[] = [];
  let states: Readonly<Record<string, HostTensor>> = {};
  let past = 0;
  for (const count of steps) {
    const now = tokens.slice(past, past + count);
    const result = finish(
      evaluate(graph, {
        inputs: {
          [INPUTS.tokens]: hostTensor("i32", [count], now),
          [INPUTS.past]: hostScalar("i32", past),
          [INPUTS.rows]: hostTensor(
            "i32",
            [count],
            now.map((_, i) => i),
          ),
        },
        states,
        param: (name) => weights.get(name)!,
      }),
    );
    const logits = result.outputs[LOGITS]!;
    const width = logits.shape[1]!;
    for (let r = 0; r < count; r++) rows.push(logProbabilities(logits.data.subarray(r * width, (r + 1) * width)));
    ({ states } = result);
    past += count;
  }
  return rows;
}

function logProbabilities(logits: Float64Array): Float64Array {
  const max = logits.reduce((a, b) => Math.max(a, b));
  const total = Math.log(logits.reduce((sum, x) => sum + Math.exp(x - max), 0)) + max;
  return logits.map((x) => x - total);
}

const worst = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((most, x, i) => Math.max(most, Math.abs(x - b[i]!)), 0);

/** llama.cpp rounds what it multiplies half weights with to the dtype of the weights. */
function roundOperands(graph: Graph): Graph {
  return finish(
    rewrite(opTable, graph, "round operands", (node, map, replace) => {
      const [x, w] = node.inputs;
      const dtype = w && graph.nodes[w.node]?.outputs[0]?.dtype;
      if (node.op !== "linear" || !x || !w || (dtype !== "f16" && dtype !== "bf16")) return undefined;
      const { apply } = replace();
      const [rounded] = apply("cast", [map(x)], { to: dtype });
      const [widened] = apply("cast", [rounded!], { to: "f32" });
      return apply("linear", [widened!, ...node.inputs.slice(1).map(map)]);
    }),
  ).graph;
}

async function readModel(path: string): Promise<{ graph: Graph; weights: ReadonlyMap<string, HostTensor> }> {
  const file = await openGguf(await openFileSource(path));
  const options = { capacity: 48, cacheType: "f32", largestStep: 48, largestRows: 48 } as const;
  const exact = finish(requireDecoder(file).graph(weightSourceOf(file), options));
  const weights = await readWeights(file);
  await file.close();
  return { graph: roundOperands(exact), weights };
}

const random = seededRandom(11);
const TOKENS = Array.from({ length: 24 }, () => 5 + random.integer(290));

const MODELS: readonly (readonly [string, string, readonly string[]])[] = [
  ["llama", "tiny-llama", ["--type", "f32"]],
  ["llama 3 factors", "tiny-llama3", ["--type", "f32"]],
  ["llama, linear", "tiny-llama", ["--type", "f32", "--rope-scaling", "linear", "--rope-factor", "4"]],
  ["qwen2", "tiny-qwen2", ["--type", "f32"]],
  [
    "qwen2, YaRN",
    "tiny-qwen2",
    ["--type", "f32", "--rope-scaling", "yarn", "--rope-factor", "4", "--rope-original-context", "32"],
  ],
  [
    "llama, linear by the old key",
    "tiny-llama",
    ["--type", "f32", "--rope-scaling", "old-linear", "--rope-factor", "4"],
  ],
  ["llama, attention factor", "tiny-llama", ["--type", "f32", "--rope-attention-factor", "1.3"]],
  [
    "qwen2, YaRN and attention factor",
    "tiny-qwen2",
    [
      ...["--type", "f32", "--rope-scaling", "yarn", "--rope-factor", "4", "--rope-original-context", "32"],
      ...["--rope-attention-factor", "0.8"],
    ],
  ],
  ["qwen3", "tiny-qwen3", ["--type", "f32"]],
  ["qwen3, half weights", "tiny-qwen3", ["--type", "f16"]],
  ["llama, half weights", "tiny-llama", ["--type", "f16"]],
  ["qwen3, bf weights", "tiny-qwen3", ["--type", "bf16"]],
  ["llama, bfloat16 weights", "tiny-llama", ["--type", "bf16"]],
  ["odd shape", "tiny-odd", ["--type", "f32"]],
];

const missing = llamaMissing();
describe.skipIf(missing)(`models against llama.cpp ${missing ?? ""}`, () => {
  it.each(MODELS)("%s", async (name, preset, options) => {
    const layers = name.endsWith("weights") ? "1" : "2";
    const path = await makeModel(name.replaceAll(/\W+/g, "-"), preset, [
      ...options,
      "--vocab",
      "400",
      "--layers",
      layers,
    ]);
    const { graph, weights } = await readModel(path);
    const whole = run(graph, weights, TOKENS, [24]);
    // In the layout of the file: where llama.cpp rearranges half weights, as on machines with AMX, it rounds otherwise.
    const expected = await llamaLogprobs(path, TOKENS, { repack: false });
    const errors = whole.map((row, i) => worst(row, expected.row(i)));
    // With half weights one element that rounds the other way sets all later positions off: most of a layer agrees.
    const half = name.endsWith("weights");
    const sorted = [...errors].sort((x, y) => x - y);
    expect(sorted[half ? 8 : errors.length - 1]).toBeLessThan(half ? 2e-6 : 2e-5);
    expect(sorted.at(-1)).toBeLessThan(0.05);
    // The same in pieces.
    const pieces = run(graph, weights, TOKENS.slice(0, 9), [4, 1, 1, 3]);
    for (const [i, row] of pieces.entries()) expect(worst(row, whole[i]!)).toBeLessThan(1e-9);
  });

  // llama.cpp refuses to turn a part of each head in these families. Asked for the same model in
  // its own words, it answers: the second half of the pairs is held still by factors, and the
  // square of the base gives the first half its angles.
  it("llama, where half of each head turns", async () => {
    const small = ["--type", "f32", "--vocab", "400", "--layers", "2"];
    const path = await makeModel("half-turns", "tiny-llama", [...small, "--rope-dims", "32", "--rope-base", "100"]);
    const twin = await makeModel("half-still", "tiny-llama", [...small, "--still-dims", "32", "--rope-base", "10000"]);
    const { graph, weights } = await readModel(path);
    const expected = await llamaLogprobs(twin, TOKENS);
    await expect(llamaLogprobs(path, TOKENS)).rejects.toThrow("invalid n_rot: 32, expected 64");
    for (const [i, row] of run(graph, weights, TOKENS, [24]).entries())
      expect(worst(row, expected.row(i))).toBeLessThan(2e-5);
  });
});
