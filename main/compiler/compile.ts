/**
 * From a model's graph to one that a backend lowers: precision, specialisation, passes, legalisation. The result keeps
 * everything that the workbench shows of the way there. Lowering itself, and the plan of memory, belong to the backends.
 */
import { WorkbenchError, throwIfCancelled } from "../diagnostics/errors.ts";
import type { Bindings } from "../ir/dim.ts";
import type { Graph } from "../ir/graph.ts";
import type { PrecisionPolicy } from "../ir/precision.ts";
import { specialize } from "../ir/specialize.ts";
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

export interface CompileOptions {
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
  /** Verify after every step. */
  readonly verify?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface Compiled {
  readonly backend: Backend;
  /** As given, after precision and specialisation. */
  readonly source: Graph;
  /** What the backend lowers. */
  readonly graph: Graph;
  readonly records: readonly PassRecord[];
  /** Per node of the graph after the passes; made when it is asked for. */
  readonly report: DispatchReport;
  /** Nodes of `graph` that the backend cannot run. */
  readonly blocked: ReadonlyMap<number, string>;
}

export function compile(graph: Graph, options: CompileOptions): Compiled {
  const { backend, precision = "f32", bindings = {}, signal } = options;
  const typed = applyPrecision(graph, precision);
  const source = Object.keys(bindings).length === 0 ? typed : specialize(opTable, typed, bindings);
  throwIfCancelled(signal);
  const checked = options.verify === true;
  const passes = options.passes ?? pipelineFor(backend);
  const { graph: optimised, records } = runPipeline(source, { passes, verify: checked, signal });
  const legalised = legalise(optimised, backend, signal, options.dispatch);
  const { graph: legal, blocked } = legalised;
  if (checked) requireVerified(opTable, legal, "after legalisation");
  if (blocked.size > 0 && options.blocked !== "keep") throw refusal(legal, backend, blocked);
  return {
    backend,
    source,
    graph: legal,
    records,
    get report() {
      return legalised.report;
    },
    blocked,
  };
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
