/**
 * The one door from a model's graph to one that a backend lowers: precision, specialisation, passes, legalisation,
 * and verification where it is asked for. The result keeps everything that the workbench shows of the way there.
 * Lowering itself, and the plan of memory, belong to the backends.
 */
import { WorkbenchError, throwIfCancelled } from "../diagnostics/errors.ts";
import type { Bindings } from "../ir/dim.ts";
import type { Graph, NodeId } from "../ir/graph.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import { specialize } from "../ir/specialize.ts";
import type { Steps } from "../ir/steps.ts";
import { finish } from "../ir/steps.ts";
import { requireVerified } from "../ir/verify.ts";
import type { Backend } from "../ops/defineOp.ts";
import { opTable } from "../ops/index.ts";
import type { Pass } from "../ir/pass.ts";
import type { PassRecord } from "../passes/pipeline.ts";
import { runPipeline } from "../passes/pipeline.ts";
import type { DispatchReport } from "./legalise.ts";
import { legalise } from "./legalise.ts";
import { pipelineFor } from "./pipelines.ts";
import type { DispatchPolicy } from "./support.ts";
import { applyPrecision } from "./precision.ts";

/** A compile that is done; its report is worked out when it is read. */
export interface CompileEvent {
  /** What was compiled: a function of a package, a phase, a decoder. */
  readonly what: string;
  readonly compiled: Compiled;
}

/** How a program watches its compiles. */
export interface CompileObserver {
  /** Verify after every step. */
  readonly verify: boolean;
  readonly onCompiled: (event: CompileEvent) => void;
}

export interface CompileOptions extends Partial<CompileObserver> {
  readonly backend: Backend;
  readonly precision?: PrecisionPolicy;
  /** Symbols to fix first; Core ML needs them all. */
  readonly bindings?: Bindings;
  /** Other passes than the backend's own list. */
  readonly passes?: readonly Pass[];
  /** What to do with nodes that the backend cannot run: refuse (default), or leave them for segments. */
  readonly blocked?: "refuse" | "keep";
  /** Native rules where there are any (default), only common ones, or only native ones. */
  readonly dispatch?: DispatchPolicy;
  readonly signal?: AbortSignal | undefined;
  /** Of the event. */
  readonly what?: string;
}

export interface Compiled {
  readonly backend: Backend;
  /** As given, after precision and specialisation. */
  readonly source: Graph;
  /** After the passes, before legalisation. */
  readonly optimised: Graph;
  /** What the backend lowers. */
  readonly graph: Graph;
  readonly records: readonly PassRecord[];
  /** Of legalisation. */
  readonly milliseconds: number;
  /** Per node of the graph after the passes; made when it is read. */
  readonly report: DispatchReport;
  /** Nodes of `graph` that the backend cannot run. */
  readonly blocked: ReadonlyMap<NodeId, string>;
}

export const compileNow = (graph: Graph, options: CompileOptions): Compiled => finish(compile(graph, options));

export function* compile(graph: Graph, options: CompileOptions): Steps<Compiled> {
  const { backend, precision = "f32", bindings = {}, verify = false, what = "graph", signal } = options;
  const typed = yield* applyPrecision(graph, precision);
  const source = Object.keys(bindings).length === 0 ? typed : yield* specialize(opTable, typed, bindings);
  throwIfCancelled(signal);
  const passes = options.passes ?? pipelineFor(backend);
  const { graph: optimised, records } = yield* runPipeline(source, { passes, verify, signal });
  const start = performance.now();
  const legal = yield* legalise(optimised, backend, signal, options.dispatch);
  const milliseconds = performance.now() - start;
  if (verify) requireVerified(opTable, legal.graph, "after legalisation");
  const compiled: Compiled = {
    backend,
    source,
    optimised,
    graph: legal.graph,
    records,
    milliseconds,
    get report() {
      return legal.report;
    },
    blocked: legal.blocked,
  };
  options.onCompiled?.({ what, compiled });
  if (legal.blocked.size > 0 && options.blocked !== "keep") throw refusal(legal.graph, backend, legal.blocked);
  return compiled;
}

function refusal(graph: Graph, backend: Backend, blocked: ReadonlyMap<number, string>): WorkbenchError {
  const [first] = blocked;
  const [id, reason] = first ?? [0, ""];
  const op = graph.nodes[id]?.op ?? "?";
  const more = blocked.size === 1 ? "" : ` (and ${blocked.size - 1} more)`;
  return new WorkbenchError("UNSUPPORTED_OP", `[${backend}] cannot run ${op}${more}: ${reason}`, {
    hint: "Choose another device, or run the graph in segments.",
    details: { nodes: [...blocked.keys()].slice(0, 100) },
  });
}
