/** What a graph goes through before a backend lowers it: the passes, then the ops that the backend has. */
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { requireVerified } from "../ir/verify.ts";
import type { Backend } from "../ops/defineOp.ts";
import { opTable } from "../ops/index.ts";
import type { PipelineResult } from "../passes/pipeline.ts";
import { runPipelineInSteps } from "../passes/pipeline.ts";
import type { Legalised } from "./legalise.ts";
import { legaliseInSteps } from "./legalise.ts";
import { pipelineFor } from "./pipelines.ts";

/** What a compile did, for whoever wants to be told; the report is worked out when it is asked for. */
export interface CompileNews {
  readonly backend: Backend;
  /** What was compiled: a function of a package, a phase, a decoder. */
  readonly what: string;
  readonly records: PipelineResult["records"];
  readonly legal: Pick<Legalised, "report">;
}

/** How compiles are looked after by whoever debugs them. */
export interface CompileWatch {
  /** Verify after every step. */
  readonly verify: boolean;
  readonly tell: (news: CompileNews) => void;
}

export interface PrepareOptions extends Partial<CompileWatch> {
  /** Of the news. */
  readonly what?: string;
}

export function* prepareInSteps(graph: Graph, backend: Backend, options: PrepareOptions = {}): Steps<Graph> {
  return (yield* legalInSteps(graph, backend, options)).graph;
}

/** The same, with what keeps a node from being legal. */
export function* legalInSteps(
  graph: Graph,
  backend: Backend,
  { verify = false, tell, what = "graph" }: PrepareOptions = {},
): Steps<Legalised> {
  const { graph: passed, records } = yield* runPipelineInSteps(graph, { passes: pipelineFor(backend), verify });
  const legal = yield* legaliseInSteps(passed, backend);
  if (verify) requireVerified(opTable, legal.graph, "after legalisation");
  tell?.({ backend, what, records, legal });
  return legal;
}
