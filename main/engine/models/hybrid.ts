/**
 * One run of a demo graph through its parts: the Core ML parts are written as a package, read back and run by the simulator or by
 * Core ML; host parts run on the CPU engine, custom functions through their own kernels. The result is laid beside the reference evaluator's.
 */
import { finish } from "../../ir/steps.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { programOf } from "../../backends/coreml/hybrid/program.ts";
import type { HybridResult, PartTiming } from "../../backends/coreml/hybrid/runner.ts";
import { HybridRunner } from "../../backends/coreml/hybrid/runner.ts";
import type { PackageRunner } from "../../backends/coreml/package/packageRunner.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import type { DirectoryWriter } from "../../backends/coreml/package.ts";
import { writePackage } from "../../backends/coreml/package.ts";
import type { LoweredProgram } from "../../backends/coreml/lowering/lower.ts";
import type { WeightBytes } from "../../backends/coreml/weights/write.ts";
import { writeWeights } from "../../backends/coreml/weights/write.ts";
import { invariant, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../../ir/hostTensor.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opTable } from "../../ops/index.ts";
import { coremlKernel } from "../../ops/signal/customKernels.ts";
import { seededRandom } from "../../runtime/statistics.ts";
import type { PackageFiles } from "../services.ts";
import { VERSION } from "../../contract/version.ts";
import { hostExecutor } from "./hostExecutor.ts";
import { nativeDequantize } from "./packageRequest.ts";

export interface HybridRun {
  readonly outputs: Readonly<Record<string, HostTensor>>;
  readonly timings: readonly PartTiming[];
  /** ‖hybrid − reference‖ / ‖reference‖ over all outputs; ‖hybrid‖ where the reference is all zeros. */
  readonly relativeRms: number;
  readonly truth: PackageRunner["truth"];
}

/** What runs the Core ML parts, opened from the package that was written. */
export interface OpenRunner {
  readonly runner: PackageRunner;
  close(): Promise<void>;
}
export type RunnerOpener = (packagePath: string) => Promise<OpenRunner>;

export interface RunParts {
  readonly route: Route;
  readonly engine: CpuEngine;
  readonly open: RunnerOpener;
  readonly packages: Pick<PackageFiles, "temporary" | "writer">;
}

/** Packages and opens the parts of a route, and lets `work` run them, as often as it wants. */
export async function runParts<T>(
  { route, engine, open, packages }: RunParts,
  work: (run: () => Promise<HybridResult>) => Promise<T>,
  { inputs, signal }: { readonly inputs: Readonly<Record<string, HostTensor>>; readonly signal: AbortSignal },
): Promise<T> {
  const place = await packages.temporary("segments.mlpackage");
  try {
    // Where Core ML runs no part, there is nothing to open.
    const hasPackage = route.lowered !== undefined;
    if (hasPackage) await packageRoute(route, engine, () => packages.writer(place.path), signal);
    const opened = hasPackage ? await open(place.path) : undefined;
    const host = hostExecutor(engine);
    try {
      const runner = new HybridRunner({
        table: opTable,
        program: programOf(route),
        runner: opened?.runner ?? NO_PACKAGE,
        host: host.run,
        kernel: coremlKernel,
      });
      return await work(() => runner.run(inputs, { signal }));
    } finally {
      host.dispose();
      await opened?.close();
    }
  } finally {
    await place.remove();
  }
}

export async function runHybrid(
  graph: Graph,
  route: Route,
  engine: CpuEngine,
  seed: number,
  signal: AbortSignal,
  open: RunnerOpener,
  packages: Pick<PackageFiles, "temporary" | "writer">,
): Promise<HybridRun> {
  const inputs = seededInputs(graph, seed);
  const run = await runParts({ route, engine, open, packages }, (once) => once(), { inputs, signal });
  const { outputs, timings, truth } = run;
  return { outputs, timings, relativeRms: difference(outputs, finish(evaluate(graph, { inputs })).outputs), truth };
}

/** The Core ML parts of a route as one package: one function each. */
export async function packageRoute(
  route: Route,
  engine: CpuEngine,
  directory: () => Promise<DirectoryWriter>,
  signal: AbortSignal,
): Promise<void> {
  const { lowered } = route;
  if (!lowered) throw new WorkbenchError("UNSUPPORTED_OP", "[hybrid] Core ML can run no part of this graph");
  await packageLowered(lowered, { read: NO_FILE, dequantize: nativeDequantize(engine) }, directory, signal);
}

/** Where every part runs on the host: nothing is asked of it. */
const NO_PACKAGE: PackageRunner = {
  label: "host",
  truth: "measured",
  newState: () => ({
    copy: () => NO_PACKAGE.newState(),
    read: () => undefined,
    write: () => undefined,
    dispose: () => undefined,
  }),
  function: (name) => {
    throw new WorkbenchError("BUG_INVARIANT", `[hybrid] there is no function ${name}`);
  },
};

export const NO_FILE: WeightBytes["read"] = (tensor) =>
  Promise.reject(
    new WorkbenchError(
      "INPUT_MISSING_TENSOR",
      `[hybrid] a graph without a model has no weight file: "${tensor}" is needed`,
    ),
  );

/** A lowered program as a package. */
export async function packageLowered(
  lowered: LoweredProgram,
  weights: WeightBytes,
  directory: () => Promise<DirectoryWriter>,
  signal: AbortSignal,
): Promise<void> {
  await writePackage(
    await directory(),
    lowered.plan.blob,
    async (sink) => {
      await writeWeights(lowered.plan, weights, sink, { signal });
    },
    () => ({
      program: lowered.program,
      opset: lowered.opset,
      defaultFunction: lowered.functions[0]?.mil.name ?? "main",
      metadata: {
        shortDescription: "Core ML parts of a hybrid graph",
        author: "",
        license: "",
        version: VERSION,
        userDefined: {},
      },
    }),
    { signal },
  );
}

function seededInputs(graph: Graph, seed: number): Readonly<Record<string, HostTensor>> {
  const random = seededRandom(seed);
  return Object.fromEntries(
    graph.inputs.map((id) => {
      const node = graph.nodes[id];
      const [type] = node?.outputs ?? [];
      invariant(type?.dtype === "f32", "demo graphs take f32");
      const shape = type.shape.map(Number);
      return [
        String(node?.attrs["name"]),
        hostTensor(
          "f32",
          shape,
          Float64Array.from({ length: sizeOf(shape) }, () => Math.fround(random() * 2 - 1)),
        ),
      ];
    }),
  );
}

/** As `relativeRms` of a run. */
export function difference(
  made: Readonly<Record<string, HostTensor>>,
  wanted: Readonly<Record<string, HostTensor>>,
): number {
  let [error, norm] = [0, 0];
  for (const [name, reference] of Object.entries(wanted)) {
    const got = made[name];
    invariant(got, `output ${name} was not made`);
    reference.data.forEach((value, i) => {
      error += ((got.data[i] ?? NaN) - value) ** 2;
      norm += value ** 2;
    });
  }
  return Math.sqrt(norm === 0 ? error : error / norm);
}
