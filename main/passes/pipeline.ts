/**
 * The passes that all backends share, in order, and what running passes leaves behind: a record per
 * pass, for reports and for the before and after of the workbench. What a backend adds of its own
 * is in main/compiler/pipelines.ts.
 */
import { throwIfCancelled } from "../diagnostics/errors.ts";
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { requireVerified } from "../ir/verify.ts";
import { opTable } from "../ops/index.ts";
import { commonSubexpressions } from "./commonSubexpressions.ts";
import { constantFolding } from "./constantFolding.ts";
import { controlFlow } from "./controlFlow.ts";
import { deadCode } from "./deadCode.ts";
import type { Miss, Pass } from "../ir/pass.ts";
import { runNested } from "./runNested.ts";
import { simplify } from "./simplify.ts";

/** What every backend's pipeline begins with. */
export const GENERAL_PASSES: readonly Pass[] = [deadCode, commonSubexpressions, controlFlow, constantFolding, simplify];

export interface PassRecord {
  readonly name: string;
  readonly reason: string;
  readonly changed: boolean;
  readonly nodesBefore: number;
  readonly nodesAfter: number;
  /** Nodes by op, before and after. */
  readonly opsBefore: Readonly<Record<string, number>>;
  readonly opsAfter: Readonly<Record<string, number>>;
  readonly milliseconds: number;
  readonly hits: number;
  readonly misses: readonly Miss[];
  readonly before: Graph;
  readonly after: Graph;
}

export interface PipelineResult {
  readonly graph: Graph;
  readonly records: readonly PassRecord[];
}

export interface PipelineOptions {
  readonly passes: readonly Pass[];
  /** Verify before the first pass and after each: in tests and when debugging. */
  readonly verify?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export function countOps(graph: Graph): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { op } of graph.nodes) counts[op] = (counts[op] ?? 0) + 1;
  return counts;
}

/** Tells the time of each piece: pauses are not the work's own. */
function* workTime<T>(steps: Steps<T>, spent: (milliseconds: number) => void): Steps<T> {
  for (;;) {
    const start = performance.now();
    const step = steps.next();
    spent(performance.now() - start);
    if (step.done === true) return step.value;
    yield;
  }
}

/** With pauses before each pass and within those that walk far. */
export function* runPipeline(graph: Graph, options: PipelineOptions): Steps<PipelineResult> {
  const { verify = false } = options;
  if (verify) requireVerified(opTable, graph, "before the passes");
  const records: PassRecord[] = [];
  let current = graph;
  let ops = countOps(graph);
  for (const pass of options.passes) {
    throwIfCancelled(options.signal);
    yield;
    let milliseconds = 0;
    const {
      graph: after,
      hits,
      misses,
    } = yield* workTime(runNested(pass, current), (time) => {
      milliseconds += time;
    });
    if (verify) requireVerified(opTable, after, `after pass "${pass.name}"`);
    const changed = after !== current;
    const opsAfter = changed ? countOps(after) : ops;
    records.push({
      name: pass.name,
      reason: pass.reason,
      changed,
      nodesBefore: current.nodes.length,
      nodesAfter: after.nodes.length,
      opsBefore: ops,
      opsAfter,
      milliseconds,
      hits,
      misses,
      before: current,
      after,
    });
    ops = opsAfter;
    current = after;
  }
  return { graph: current, records };
}
