/** A model's package as it is run: by its functions alone, or with the host parts that its graph has in between. */
import { BINDINGS_KEY, HOST_PARTS_KEY, bindingsOf, variantParts } from "../../backends/coreml/export.ts";
import type { ShapeFlexibility } from "../../backends/coreml/flexible.ts";
import { HostedRunner } from "../../backends/coreml/hybrid/hostedRunner.ts";
import type { Part } from "../../backends/coreml/hybrid/partition.ts";
import { isWhole } from "../../backends/coreml/hybrid/partition.ts";
import type { HybridProgram } from "../../backends/coreml/hybrid/program.ts";
import type { PackageRunner } from "../../backends/coreml/package/packageRunner.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Pooling } from "../../models/family.ts";
import { opTable } from "../../ops/index.ts";
import { coremlKernel } from "../../ops/signal/customKernels.ts";
import { counted } from "../words.ts";
import { exportRequest } from "./exporting.ts";
import { hostExecutor } from "./hostExecutor.ts";
import type { OpenModel } from "./openModel.ts";
import { mappablePaths } from "./openModel.ts";
import { inSlices } from "./taskCache.ts";

export interface OpenedPackage {
  readonly runner: PackageRunner;
  /** What the package says of itself. */
  readonly userDefined: Readonly<Record<string, string>>;
}

export interface HostedPackage extends OpenedPackage {
  /** The runner, where there are host parts. */
  readonly hosted: HostedRunner | undefined;
  /** Of what the host parts hold; the package's runner is the caller's. */
  dispose(): void;
}

/** What the package was made from. */
export interface PackageOrigin {
  readonly model: OpenModel;
  readonly target: PlanTarget;
  readonly engine: CpuEngine;
  readonly signal: AbortSignal;
  readonly flexibility?: ShapeFlexibility;
  readonly pooling?: Pooling | undefined;
}

export async function hostedPackage(opened: OpenedPackage, origin: PackageOrigin): Promise<HostedPackage> {
  const { runner, userDefined } = opened;
  if (userDefined[HOST_PARTS_KEY] === undefined) return { ...opened, hosted: undefined, dispose: () => undefined };
  const { model, target, engine, signal, flexibility, pooling } = origin;
  const request = await exportRequest(model, target, signal, { flexibility, pooling, packageName: "the package" });
  const bindings = bindingsOf(userDefined);
  const programs = new Map<string, HybridProgram>();
  const parts = new Set<string>();
  for (const { name, graph, parts: cut, functionNames } of await inSlices(variantParts(request), signal)) {
    if (isWhole(graph, cut)) continue;
    const functions = [...functionNames].map(([index, own]) => {
      parts.add(own);
      return [index, { name: own, bindings: bindings[own] ?? noFunction(runner.label, own) }] as const;
    });
    programs.set(name, { graph, parts: cut, functions: new Map(functions) });
  }
  const paths = await mappablePaths(model, "run", signal);
  const host = hostExecutor(engine, { file: model.requireFile("run"), paths });
  const hosted = new HostedRunner({ table: opTable, runner, host: host.run, kernel: coremlKernel }, programs);
  const whole = Object.entries(bindings).filter(([name]) => !parts.has(name));
  const { [HOST_PARTS_KEY]: _, ...rest } = userDefined;
  return {
    runner: hosted,
    userDefined: { ...rest, [BINDINGS_KEY]: JSON.stringify({ ...Object.fromEntries(whole), ...hosted.bindings }) },
    hosted,
    dispose: () => host.dispose(),
  };
}

/** What a benchmark says of them: where the time of a step went. */
export function partNotes(hosted: HostedRunner | undefined): readonly string[] {
  return (hosted?.times ?? []).map(({ function: name, program, steps, seconds }) => {
    const text = (total: number): string => `${((1000 * total) / steps).toFixed(2)} ms`;
    const spent = (parts: readonly Part[]): string =>
      `${text(parts.reduce((sum, { index }) => sum + (seconds[index] ?? 0), 0))} in ${counted(parts.length, "part")}`;
    const host = program.parts.filter(({ side }) => side === "host");
    const others = program.parts.filter(({ side }) => side !== "host");
    const each = host.map(({ index, nodes }) => {
      const ops = [...new Set(nodes.map((id) => program.graph.nodes[id]?.op ?? ""))].join(" + ");
      return `part ${index + 1}, ${ops}: ${text(seconds[index] ?? 0)}`;
    });
    const listed = each.length > MOST_LISTED ? [...each.slice(0, MOST_LISTED), "…"] : each;
    return `A ${name} step, mean of ${steps}: ${spent(others)} on Core ML, ${spent(host)} on the host (${listed.join("; ")}).`;
  });
}

const MOST_LISTED = 8;

const noFunction = (label: string, name: string): never => {
  throw new WorkbenchError("INPUT_CHANGED", `[${label}] the package: got no function ${name}, expected one`, {
    hint: "Export the model again.",
  });
};
