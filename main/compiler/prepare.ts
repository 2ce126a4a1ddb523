/** What a graph goes through before a backend lowers it: the passes, then the ops that the backend has. */
import type { Graph } from "../ir/graph.ts";
import type { Steps } from "../ir/steps.ts";
import { pipelineFor, runPipelineInSteps } from "../passes/pipeline.ts";
import { legaliseInSteps } from "./legalise.ts";

type Backend = Parameters<typeof pipelineFor>[0] & Parameters<typeof legaliseInSteps>[1];

export function* prepareInSteps(graph: Graph, backend: Backend, verify = false): Steps<Graph> {
  const { graph: passed } = yield* runPipelineInSteps(graph, { passes: pipelineFor(backend), verify });
  return (yield* legaliseInSteps(passed, backend)).graph;
}
