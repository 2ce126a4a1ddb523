// 2 000 random graphs over every operation: text, passes and devices keep what the reference computes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openPackage, writePackage } from "../backends/coreml/package.ts";
import type { HostExecutor } from "../backends/coreml/hybrid/runner.ts";
import { programOf } from "../backends/coreml/hybrid/program.ts";
import { HybridRunner } from "../backends/coreml/hybrid/runner.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import { writeWeights } from "../backends/coreml/weights/write.ts";
import type { Graph } from "../ir/graph.ts";
import { graphHash } from "../ir/hash.ts";
import { tensorBytes } from "../ir/hostBytes.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { parseGraph } from "../ir/text/build.ts";
import { printWhole } from "../ir/text/print.ts";
import { loadAddon } from "../node/native/addon.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { evaluate } from "../ops/evaluate.ts";
import { opTable } from "../ops/index.ts";
import { coremlKernel } from "../ops/signal/customKernels.ts";
import type { Device } from "../runtime/device.ts";
import { cpuDevice } from "../runtime/devices/cpu.ts";
import { mlxDevice } from "../runtime/devices/mlx.ts";
import { numbersOf } from "../testing/nativeTensors.ts";
import type { VocabularyCase } from "../testing/randomVocabulary.ts";
import { VOCABULARY, vocabularyCase } from "../testing/randomVocabulary.ts";
import { routeFor } from "../testing/routes.ts";
import { reasonNotFound } from "../testing/skipping.ts";
import { compileNow } from "./compile.ts";
import { pipelineFor } from "./pipelines.ts";

const SEEDS = Array.from({ length: 2000 }, (_, seed) => seed);
/** One test of many graphs tells each of them that differs, up to so many. */
const MOST_TOLD = 5;

type Outputs = Readonly<Record<string, HostTensor>>;

/** What an output may differ by: rounding of its type, and what a nudge of the operands does to it. */
const STEPS: { readonly [D in HostTensor["dtype"]]?: number } = {
  f16: 2 ** -9,
  bf16: 2 ** -6,
  f32: 1e-5,
  f64: 1e-5,
  c64: 1e-5,
};

interface Expected {
  readonly exact: Outputs;
  readonly nudged: Outputs;
}

const expectedOf = ({ graph, inputs, nudged }: VocabularyCase): Expected => ({
  exact: finish(evaluate(graph, { inputs })).outputs,
  nudged: finish(evaluate(nudged.graph, { inputs: nudged.inputs })).outputs,
});

/** The first element that is further from the reference than rounding explains. */
function difference({ exact, nudged }: Expected, got: Outputs, coarsest: number): string | undefined {
  for (const [name, want] of Object.entries(exact)) {
    const have = got[name];
    if (have?.data.length !== want.data.length || have.dtype !== want.dtype) return `${name}: another type`;
    const step = STEPS[want.dtype];
    const coarse = step === undefined ? undefined : Math.max(step, coarsest);
    const scale = want.data.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 1e-30);
    const wrong = want.data.findIndex((x, i) => {
      const y = have.data[i] ?? NaN;
      if (Object.is(x, y) || x === y) return false;
      if (coarse === undefined || !Number.isFinite(x)) return true;
      const shaken = 20 * Math.abs((nudged[name]?.data[i] ?? NaN) - x);
      return !(Math.abs(x - y) <= coarse * (Math.abs(x) + scale) + shaken);
    });
    if (wrong !== -1)
      return `${name}[${wrong}]: got ${have.data[wrong]}, expected ${want.data[wrong]}, nudged ${nudged[name]?.data[wrong]}`;
  }
  return undefined;
}

/** Values in half precision round on their way, whatever type the result has. */
const coarsestOf = ({ nodes }: Graph): number =>
  nodes.some(({ outputs }) => outputs.some(({ dtype }) => dtype === "f16" || dtype === "bf16")) ? 2 ** -6 : 0;
/** Core ML multiplies positions by frequencies in f32: the sine of a far position's angle has fewer places. */
const angleOf = ({ nodes }: Graph): number => (nodes.some(({ op }) => op === "rope_table") ? 2 ** -10 : 0);

/** Made once for all devices. */
const CASES = SEEDS.map((seed) => {
  const one = vocabularyCase(seed);
  return { ...one, seed, expected: expectedOf(one) };
});
type Case = (typeof CASES)[number];

async function tell(
  check: (one: Case) => Promise<string | undefined> | string | undefined,
  cases = CASES,
): Promise<void> {
  const told: string[] = [];
  for (const one of cases) {
    const said = await Promise.resolve(one)
      .then(check)
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    if (said !== undefined) told.push(`seed ${one.seed}: ${said}\n${printWhole(one.graph).slice(0, 4000)}`);
    if (told.length >= MOST_TOLD) break;
  }
  expect(told).toEqual([]);
}

it("the graphs hold every operation that has samples without symbols and packed weights", () => {
  const seen = new Set(CASES.slice(0, 300).flatMap(({ graph }) => graph.nodes.map(({ op }) => op)));
  expect(VOCABULARY.filter((name) => !seen.has(name))).toEqual([]);
});

it("printed and read back they are the same", async () => {
  await tell(({ graph }) => {
    const back = parseGraph(opTable, printWhole(graph));
    return graphHash(back) === graphHash(graph) ? undefined : "another graph";
  });
});

it("every pass keeps what they compute", async () => {
  await tell((one) => {
    let current = one.graph;
    for (const pass of pipelineFor("cpu")) {
      const { graph, hits } = pass.run(current);
      if (hits > 0) {
        const { outputs } = finish(evaluate(graph, { inputs: one.inputs }));
        const said = difference(one.expected, outputs, coarsestOf(one.graph));
        if (said !== undefined) return `${pass.name}: ${said}`;
      }
      current = graph;
    }
    return undefined;
  });
});

const cpu = loadAddon();

/** Runs those that the device takes whole; what it has no form for stands in its table. */
async function allOn(device: Device, backend: "cpu" | "mlx"): Promise<void> {
  let ran = 0;
  await tell(async (one) => {
    const { graph, blocked } = compileNow(one.graph, { backend, blocked: "keep" });
    if (blocked.size > 0) return undefined;
    ran++;
    return onDevice(device, graph, one);
  });
  expect(ran).toBeGreaterThan(0.8 * CASES.length);
}

async function onDevice(device: Device, graph: Graph, { inputs, expected }: Case): Promise<string | undefined> {
  const compiled = device.compile(graph);
  const session = compiled.open();
  try {
    const fetch = Object.keys(expected.exact);
    const bytes = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, tensorBytes(value)]));
    const result = await session.run({ inputs: bytes, fetch });
    const outputs = Object.fromEntries(
      Object.entries(result.outputs).map(([name, { dtype, shape, bytes: made }]) => [
        name,
        hostTensor(dtype, shape, numbersOf(dtype, made, cpu)),
      ]),
    );
    return difference(expected, outputs, coarsestOf(graph));
  } finally {
    session.dispose();
    compiled.dispose();
  }
}

it("the CPU engine computes the same", () => allOn(cpuDevice(cpu, { threads: 1 }), "cpu"));

const found = findMlxEngine();
const missing = reasonNotFound(found);
describe.skipIf(missing !== undefined)(`MLX ${missing ?? ""}`, () => {
  it("computes the same", async () => {
    if (typeof found === "string") throw new Error(found);
    await allOn(mlxDevice(found, { mode: "compiled" }), "mlx");
  });
});

const folder = mkdtempSync(join(tmpdir(), "rlx-vocabulary-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const host: HostExecutor = (graph, inputs) => Promise.resolve(finish(evaluate(graph, { inputs })).outputs);

it("Core ML, simulated, with its host segments, computes the same", async () => {
  const sides = new Set<string>();
  await tell(
    async ({ graph, inputs, expected, seed }) => {
      const route = routeFor(graph, { units: "all", profile: "exact", context: 1 });
      const path = join(folder, `${seed}.mlpackage`);
      const { lowered } = route;
      // Every op of it is a host segment.
      if (lowered === undefined) return undefined;
      const weights = { read: () => Promise.reject(new Error("no weights")), dequantize: () => new Float32Array(0) };
      const metadata = { shortDescription: "", author: "", license: "", version: "1", userDefined: {} };
      const { program, opset } = lowered;
      await writePackage(
        await packageWriter(path),
        lowered.plan.blob,
        async (sink) => void (await writeWeights(lowered.plan, weights, sink)),
        () => ({ program, opset, defaultFunction: program.functions[0]?.name ?? "main", metadata }),
      );
      const reader = packageReader(path);
      try {
        const runner = new Simulator(await openPackage(reader));
        const hybrid = { table: opTable, program: programOf(route), runner, host, kernel: coremlKernel };
        const made = await new HybridRunner(hybrid).run(inputs);
        for (const { side } of made.timings) sides.add(side);
        return difference(expected, made.outputs, Math.max(coarsestOf(graph), angleOf(graph)));
      } finally {
        await reader.close();
        rmSync(path, { recursive: true });
      }
    },
    CASES.slice(0, 400),
  );
  expect([...sides].sort()).toEqual(["coreml", "host"]);
});
