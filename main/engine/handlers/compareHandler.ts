/** `compare.run`: two sides against each other, over what the other handlers already say of each. */
import type { CallContext } from "../../contract/define.ts";
import type { EngineHandlers } from "../../contract/contract.ts";
import type { PhaseItem } from "../../contract/views/common.ts";
import { compareModels } from "../compare/compare.ts";
import type { CompareParts } from "../compare/compare.ts";
import type { CostAccess } from "../models/costs.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { settledStream } from "../progressStream.ts";
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
