/** `compare.run`: two sides against each other, over what the other handlers already say of each. */
import type { CallContext } from "../../contract/define.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { Phase, PhaseItem } from "../../contract/views/common.ts";
import { CHANGE_KINDS } from "../../contract/views/compare.ts";
import { LEGAL, stageOn } from "../../contract/views/graph.ts";
import { compareGraphs } from "../../compare/graphs.ts";
import { mergeGraphs } from "../../compare/merge.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import { opTable } from "../../ops/index.ts";
import { compareModels } from "../compare/compare.ts";
import type { CompareParts } from "../compare/compare.ts";
import type { CostAccess } from "../models/costs.ts";
import { bindingsFor } from "../models/graphs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { inSlices } from "../models/taskCache.ts";
import { settledStream } from "../progressStream.ts";
import { graphView } from "../views/graphView.ts";
import { phaseItem } from "./runHandlers.ts";

export type AskedCalls = Pick<EngineHandlers["calls"], "model.overview" | "verdict.get" | "route.get">;

export interface CompareHandlerParts {
  readonly store: Pick<ModelStore, "get">;
  readonly costs: Pick<CostAccess, "of">;
  readonly calls: AskedCalls;
}

const noLeave: CallContext["onLeave"] = () => undefined;

export function compareParts({ store, costs, calls }: CompareHandlerParts): CompareParts {
  const within = (signal: AbortSignal): CallContext => ({ signal, onLeave: noLeave });
  return {
    model: (id) => store.get(id),
    overview: async (model, { target }) =>
      calls["model.overview"]({ model, context: null, target }, within(new AbortController().signal)),
    verdict: async (model, subject, signal) => calls["verdict.get"]({ model, subject, rows: "own" }, within(signal)),
    route: async (model, { backend, target }, phase, signal) =>
      calls["route.get"]({ model, backend, target, phase }, within(signal)),
    graph: async (model, subject, phase, signal) => (await costs.of(store.get(model), subject, phase, signal)).graph,
  };
}

export const mergeHandler =
  (parts: CompareParts): EngineHandlers["calls"]["compare.graph"] =>
  async ({ a, b, phase }, { signal }) => {
    const left = await graphOf(parts, a, phase, signal);
    const right = await graphOf(parts, b, phase, signal);
    if (left === null || right === null) return null;
    const merged = mergeGraphs(left, right, compareGraphs(left, right));
    const { target, backend } = b.subject;
    const key = { model: b.model, stage: stageOn(backend, LEGAL, target), phase };
    const asked = { key, graph: merged.graph, table: opTable, held: heldAsStored };
    const bindings = bindingsFor(merged.graph, phase, target.context);
    const view = await inSlices(graphView({ ...asked, bindings }), signal);
    const kind = Uint8Array.from(merged.kinds, (own) => CHANGE_KINDS.indexOf(own ?? "same"));
    return { view, kind, a: merged.a, b: merged.b };
  };

/** null: there is none, which the comparison says. */
async function graphOf(
  parts: CompareParts,
  { model, subject }: Parameters<EngineHandlers["calls"]["compare.graph"]>[0]["a"],
  phase: Phase,
  signal: AbortSignal,
): Promise<Graph | null> {
  try {
    return await parts.graph(model, subject, phase, signal);
  } catch (error) {
    if (error instanceof WorkbenchError && error.code.startsWith("UNSUPPORTED_")) return null;
    throw error;
  }
}

export function compareHandler(parts: CompareParts): EngineHandlers["streams"]["compare.run"] {
  return async function* compare(asked, { signal }) {
    const started = performance.now();
    const comparison = yield* settledStream<PhaseItem, Awaited<ReturnType<typeof compareModels>>>((emit) =>
      compareModels(
        parts,
        asked,
        (step, sentence, fraction) => emit(phaseItem(step, sentence, started, fraction ?? null)),
        signal,
      ),
    );
    yield { kind: "done", comparison };
  };
}
