/**
 * The first graph of a process is made by code that never ran before, which takes twice as long as the graphs after it. So,
 * while no model is open, the way from a header to a graph with its route is gone over a small model of our own.
 * Nothing of it is kept but the compiled code, and the first model that is opened ends it.
 */
import { encodeFrame } from "../../contract/codec.ts";
import type { EngineDevices } from "../devices.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import { ROUTED, routedStage } from "../../contract/views/graph.ts";
import { DEEP, headerOnlyModel } from "../../models/headerOnly.ts";
import { graphHandlers } from "../handlers/graphHandlers.ts";
import { inspectHandlers } from "../handlers/inspectHandlers.ts";
import { machinesFrom } from "../measure/thisMachine.ts";
import { costAccess } from "./costs.ts";
import { createModelStore } from "./modelStore.ts";
import type { Offers } from "./offers.ts";
import type { Machine, ModelFiles, Recents, Uploads } from "../services.ts";
import { routeHandlers } from "../handlers/routeHandlers.ts";

/**
 * Measured: more blocks or rounds make the first real graph no faster, fewer leave it slow. A route takes three times as long
 * as a graph, so there is one of it. All of it is about 0.6 s of one core.
 */
const LAYERS = 48;
const ROUNDS = 4;

const offers: Offers = {
  list: () => [],
  open: async () => ({
    kind: "header-only",
    file: await headerOnlyModel({ ...DEEP, title: "Warm-up", layers: LAYERS }),
    data: { kind: "none" },
    offer: undefined,
    argument: null,
    openedInSeconds: 0,
  }),
};

export interface WarmUpParts {
  readonly files: ModelFiles;
  readonly recents: Recents;
  readonly uploads: Uploads;
  readonly target: TargetSpec;
  readonly devices: EngineDevices;
  readonly machine: Machine;
}

/** Rejects with CANCELLED when the signal fires; others have their turn meanwhile. */
export async function warmUp(
  { files, recents, uploads, target, devices, machine }: WarmUpParts,
  signal: AbortSignal,
): Promise<void> {
  const store = createModelStore({ files, offers, recents, uploads });
  const dispatch = "prefer-native";
  const unmeasured = { known: () => Promise.resolve([]) };
  const costs = costAccess({ dispatch, machineOf: machinesFrom({ machine, devices, calibration: unmeasured }) });
  const calls = {
    ...inspectHandlers({
      store,
      uploads,
      initialTarget: target,
      devices,
      machine,
    }),
    ...graphHandlers(store, target, dispatch, costs),
    ...routeHandlers({ store, initial: target, here: null, costs }),
  };
  const phase = "decode";
  const context = { signal, onLeave: () => undefined };
  try {
    for (let round = 1; round <= ROUNDS; round++) {
      const { model } = await calls["model.open"]({ source: { kind: "offer", id: "warm-up" }, adapters: [] }, context);
      const graph = await calls["graph.get"]({ model, stage: routedStage(ROUTED.backend, target), phase }, context);
      encodeFrame({ t: "res", id: 1, value: graph });
      if (round === ROUNDS) await calls["route.get"]({ model, backend: "coreml", target, phase }, context);
      await calls["model.close"]({ model }, context);
    }
  } finally {
    await store.dispose();
  }
}
