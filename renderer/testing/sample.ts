/** The sample model as the recorded engine tells of it, and what its tests share. */
import type { PlannedRoute, RouteView } from "../../main/contract/views/route.ts";
import { deviceCode } from "../../main/contract/views/common.ts";
import type { GraphView } from "../../main/contract/views/graph.ts";
import { ROUTED, routedStage } from "../../main/contract/views/graph.ts";
import { answerTo } from "../engine/recorded/replay.ts";
import { opName } from "../graph/graphModel.ts";
import type { LayoutClient } from "../graph/layoutClient.ts";
import { layoutScene } from "../graph/layout.ts";

export const SAMPLE = { kind: "offer", id: "sample" } as const;
export const HYBRID = { kind: "offer", id: "demo-hybrid" } as const;

export const sample = answerTo("model.open", { source: SAMPLE });
export const { model: sampleId, target: sampleTarget } = sample;
export const sampleRoute: RouteView = answerTo("route.get", {
  ...{ model: sampleId, target: sampleTarget, phase: "decode" },
});
export const sampleGraph: GraphView = answerTo("graph.get", {
  ...{ model: sampleId, stage: routedStage(ROUTED.backend, sampleTarget), phase: "decode" },
});

/** Without a worker. */
export const inPlace: LayoutClient = { layout: async (model, state, room) => layoutScene(model, state, room) };

/** Core ML plans on Macs only, so this plan is made up: the prediction, but for the last attention, which goes to the GPU. */
export function plannedRoute(route: RouteView, view: GraphView): PlannedRoute {
  const predicted = Uint8Array.from(route.nodes.device);
  const planned = Uint8Array.from(predicted);
  const moved = planned.findLastIndex(
    (code, node) => code === deviceCode("ane") && opName(view, node) === "attention_cached",
  );
  planned[moved] = deviceCode("gpu");
  const ops = predicted.filter((code) => code !== 0).length;
  const difference = {
    ...{ node: moved, op: "scaled_dot_product_attention", output: "attention_0" },
    ...({ predicted: "ane", planned: "gpu" } as const),
    ...{ cost: 0.1, rule: "ane.fits", sentence: "It fits." },
  };
  return {
    truth: "planned",
    ...{ target: route.target, targetTitle: route.targetTitle, phase: route.phase },
    ...{ machine: "Apple M4, macOS 26.5", refusal: null, sentence: `On Apple M4, macOS 26.5: ${ops - 1} of ${ops}.` },
    ...{ ops, joined: ops, agreeing: ops - 1, differing: 1, firstDifference: difference, differences: [difference] },
    shares: [{ device: "ane", predicted: 0.9, planned: 0.88 }],
    nodes: { predicted, planned },
  };
}
