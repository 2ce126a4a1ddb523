/** What the session itself keeps of a model: adapters, subject, tab, tensor search, the selected op. */
import { z } from "zod";
import { TABS } from "../../main/contract/commands.ts";
import { phase, targetSpec } from "../../main/contract/views/common.ts";
import { backend, isRouted, ROUTED } from "../../main/contract/views/graph.ts";
import { adapterSource } from "../../main/contract/views/model.ts";
import { current } from "./async.ts";
import { documentPart } from "./document.ts";
import type { ModelSlice, RoutesSlice, SelectionSlice } from "./sessionSlice.ts";

export const adaptersPart = documentPart<ModelSlice>()({
  name: "adapters",
  of: "model",
  schema: z.object({ paths: z.array(adapterSource).max(16).default([]) }),
  save: ({ adapters }) => (adapters.length === 0 ? null : { paths: [...adapters] }),
  restore: ({ paths }, { get }) => (paths.length === 0 ? undefined : get().setAdapters(paths)),
});

export const targetPart = documentPart<RoutesSlice>()({
  name: "target",
  of: "model",
  schema: z.object({ target: targetSpec, phase, backend: backend.default(ROUTED.backend) }),
  save: ({ target, phase: of, backend: on }) => (target === null ? null : { target, phase: of, backend: on }),
  restore({ target, phase: of, backend: on }, { get }) {
    // What is there already is not asked for again.
    if (get().backend !== on) get().setBackend(on, "session");
    if (get().phase !== of) get().setPhase(of);
    if (JSON.stringify(get().target) !== JSON.stringify(target)) get().setTarget(target);
  },
});

const tab = z.enum(TABS.map(({ id }) => id));

export const viewPart = documentPart<SelectionSlice>()({
  name: "view",
  of: "model",
  schema: z.object({
    tab,
    tensorQuery: z.string().max(1000),
    /** Of the legal graph in the saved phase. */
    node: z.number().int().min(0).nullable(),
  }),
  save: ({ tab: shown, tensorQuery, selection }) => ({
    tab: shown,
    tensorQuery,
    node: selection.kind === "node" && isRouted(selection.key.stage) ? selection.node : null,
  }),
  restore({ tab: shown, tensorQuery, node }, { get, set, emit, once }) {
    set({ tab: shown, tensorQuery });
    if (node === null) return;
    const model = current(get().model)?.model;
    const choose = (): void => {
      const graph = current(get().graph);
      // Another choice came first, or the graph is not the one that it was.
      if (current(get().model)?.model !== model || get().selection.kind !== "none") return;
      if (graph !== null && node < graph.view.nodeCount) emit("nodeChosen", node);
    };
    once("routesSettled", choose);
  },
});
