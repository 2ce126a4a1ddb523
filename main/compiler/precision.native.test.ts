// Plans under each precision policy, on the CPU engine and on MLX: what the policy has typed anew is computed as the reference computes
// it, and the sample model in half keeps the distribution of the one in f32.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile } from "./compile.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { Graph } from "../ir/graph.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import { evaluate } from "../ops/evaluate.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import { mlxDevice } from "../runtime/devices/mlx.ts";
import { logprobsOf, tokensFor, withDecoder } from "../testing/decoderRuns.ts";
import { numbersOf } from "../testing/nativeTensors.ts";
import type { RandomCase } from "../testing/randomGraphs.ts";
import { randomCase } from "../testing/randomGraphs.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import type { WeightFile } from "../testing/weightFile.ts";
import { weightFile } from "../testing/weightFile.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";

const HALF = ["mixed", "f16"] as const satisfies readonly PrecisionPolicy[];
const CASES = 200;
const SAMPLE = join(import.meta.dirname, "../../assets/models/rlx-sample.gguf");
const cpu = loadAddon();
const mlx = findMlxEngine();
const noMlx = reasonNotFound(mlx);

type OpenDevice = (weights: WeightFile) => Pick<ReturnType<typeof cpuDevice>, "compile">;
const onCpu: OpenDevice = (weights) => cpuDevice(cpu, { threads: 1, weights });
const onMlx: OpenDevice = (weights) => {
  if (typeof mlx === "string") throw new Error(mlx);
  return mlxDevice(mlx, { mode: "lazy", weights });
};

const hasHalf = (graph: Graph): boolean =>
  graph.nodes.some(({ op, outputs }) => op !== "cast" && outputs.some(({ dtype }) => dtype === "f16"));

/** Root mean square of the device's difference from the reference of the same types, over that of the reference. */
async function difference(graph: Graph, { inputs }: RandomCase, open: OpenDevice, where: string): Promise<number> {
  const weights = weightFile(graph, (name, type) => tensorBytes(inputs.param!(name, type)));
  const compiled = open(weights).compile(graph);
  const session = compiled.open();
  try {
    const expected = evaluate(graph, inputs).outputs;
    const given = Object.fromEntries(Object.entries(inputs.inputs).map(([name, value]) => [name, tensorBytes(value)]));
    const result = await session.run({ inputs: given, fetch: Object.keys(expected) });
    let [square, size] = [0, 0];
    for (const [name, want] of Object.entries(expected)) {
      const { dtype, shape, bytes } = result.outputs[name]!;
      const got = hostTensor(dtype, shape, numbersOf(dtype, bytes, cpu));
      expect(got.data.every(Number.isFinite), `${where}, ${name}`).toBe(want.data.every(Number.isFinite));
      want.data.forEach((x, i) => {
        square += (got.data[i]! - x) ** 2;
        size += x ** 2;
      });
    }
    return Math.sqrt(square / size);
  } finally {
    session.dispose();
    compiled.dispose();
    weights.remove();
  }
}

/**
 * A sum in another order may round to the next half, and in a chain of dozens of ops some subtract what is nearly the same:
 * the greatest difference of all graphs that is still no error. MLX adds some sums in half, the CPU none.
 */
const GREATEST = { cpu: 2 ** -8, mlx: 2 ** -5 };

async function compareAll(backend: "cpu" | "mlx", precision: PrecisionPolicy, open: OpenDevice): Promise<void> {
  const differences: number[] = [];
  for (let seed = 1; seed <= CASES; seed++) {
    const each = randomCase(seed);
    const { graph } = compile(each.graph, { backend, precision, verify: true });
    if (hasHalf(graph)) differences.push(await difference(graph, each, open, `seed ${seed}`));
  }
  expect(differences.length).toBeGreaterThan(CASES * 0.75);
  // One that is no number would hide from what follows.
  expect(differences.findIndex(Number.isNaN)).toBe(-1);
  differences.sort((a, b) => a - b);
  const quantile = (part: number): number => differences[Math.floor(differences.length * part)]!;
  expect(quantile(0.5)).toBeLessThan(2 ** -11);
  expect(quantile(0.95)).toBeLessThan(2 ** -9);
  expect(differences.at(-1)).toBeLessThan(GREATEST[backend]);
}

describe.each(HALF)("precision %s", (precision) => {
  test(`${CASES} random graphs on the CPU equal the reference`, () => compareAll("cpu", precision, onCpu));

  test.skipIf(noMlx !== undefined)(`${CASES} random graphs on MLX equal the reference ${noMlx ?? ""}`, () =>
    compareAll("mlx", precision, onMlx),
  );

  test("the sample model on the CPU keeps its distribution", async () => {
    const logprobs = (policy: PrecisionPolicy): Promise<Float64Array[]> =>
      withDecoder(
        cpu,
        SAMPLE,
        { cacheType: "f32", prepare: (graph) => compile(graph, { backend: "cpu", precision: policy }).graph },
        (decoder) => logprobsOf(decoder, tokensFor(decoder.architecture.vocabulary), 64),
      );
    const [exact, half] = [await logprobs("f32"), await logprobs(precision)];
    const divergences = exact.map((row, t) => row.reduce((sum, p, i) => sum + Math.exp(p) * (p - half[t]![i]!), 0));
    const mean = divergences.reduce((a, b) => a + b, 0) / divergences.length;
    expect(mean).toBeGreaterThan(0);
    expect(mean).toBeLessThan(1e-3);
  });
});
