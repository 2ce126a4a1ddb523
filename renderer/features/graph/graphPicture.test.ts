// What the graph shows follows from the state alone, and each part is made again only when it has to be.
import { describe, expect, it } from "vitest";
import type { OverlayView } from "../../../main/contract/views/graph.ts";
import { classify, classifyRoughly } from "../../graph/fold.ts";
import { createGraphModel, opName } from "../../graph/graphModel.ts";
import { layoutScene } from "../../graph/layout.ts";
import { IDLE, loading, ready } from "../../session/async.ts";
import { INITIAL_SESSION } from "../../session/createSession.ts";
import { plannedRoute, sampleGraph, sampleRoute } from "../../testing/sample.ts";
import { createGraphPicture } from "../../drawing/graphPicture.ts";
import { BUILT } from "../../../main/contract/views/graph.ts";
import type { GraphState } from "./graphState.ts";
import { LEGAL_STAGE } from "./graphState.ts";

const model = createGraphModel(sampleGraph);
const { device } = sampleRoute.nodes;
const [classes, rough] = [classify(model, device), classifyRoughly(model, device)];
/** Every group is open: an op has a box of its own. */
const open = new Set(sampleGraph.groups.parent.keys());
const picture = { model, classes, rough, scene: layoutScene(model, { open, classes, rough }), serial: 1 };
const linear = sampleGraph.nodes.op.findIndex((_, node) => opName(sampleGraph, node) === "linear");
const box = picture.scene.boxOfNode[linear] ?? -1;

const STATE = {
  ...INITIAL_SESSION,
  ...{ graph: ready(model), routes: { prefill: IDLE, decode: ready(sampleRoute) } },
  ...{ graphStage: LEGAL_STAGE, graphMode: "device", overlay: IDLE, picture: ready(picture), openGroups: open },
  ...{ isolated: null, only: null, graphHits: [], stageChanges: null },
} as unknown as GraphState;
const with_ = (part: object): GraphState => ({ ...STATE, ...part });
const show = (part: object = {}) => createGraphPicture()(with_(part))!;
const time = {
  kind: "time",
  truth: "predicted",
  legend: [],
  values: new Float32Array(sampleGraph.nodeCount).fill(0.01),
};

describe("the picture of the graph", () => {
  it("is none before the layout is there, and stays while its successor is made", () => {
    expect(createGraphPicture()(with_({ picture: IDLE }))).toBeNull();
    expect(show({ picture: loading(ready(picture)) }).picture).toBe(picture);
  });

  it("has the devices of the route, and of another stage none", () => {
    expect(show().devices).toBe(sampleRoute.devices);
    expect(show().route).toBe(sampleRoute);
    const initial = show({ graphStage: { ...LEGAL_STAGE, step: BUILT }, stageGraph: ready(model) });
    expect(initial).toMatchObject({ route: null, devices: [] });
    expect(initial.hops.size).toBe(0);
  });

  it("counts the devices of a plan in its colours, and marks what is planned elsewhere in those of the prediction", () => {
    const planned = plannedRoute(sampleRoute, sampleGraph);
    const moved = planned.firstDifference!.node;
    expect(show({ planned: ready(planned) }).cards.planned(moved)).toBe("gpu");
    const inPlan = show({ planned: ready(planned), graphMode: "planned" });
    expect(inPlan.cards.planned(moved)).toBeNull();
    expect(inPlan.devices.find((each) => each.device === "gpu")?.ops).toBe(1);
  });

  it("says the quantity of its mode, and nothing of another's columns", () => {
    expect(show().cards.quantity(box)).toMatch(/^~[\d.]+\u202f[µm]s$/);
    const timed = { graphMode: "time", overlay: ready(time as unknown as OverlayView) };
    // A share, and with the time of the step what it takes: the hundredth part of 30 ms.
    expect(show(timed).cards.quantity(box)).toMatch(/^~1\.0.%$/);
    const whole = { value: 0.03 };
    expect(show({ ...timed, overlay: ready({ ...time, whole }) }).cards.quantity(box)).toBe("~300\u202fµs");
    expect(show({ ...timed, overlay: ready({ ...time, kind: "bytes" }) }).cards.quantity(box)).toBe("");
  });

  it("describes an op with its place and device", () => {
    expect(show().describe(box)).toMatch(/^linear .*, block 0, attention, on (Neural Engine|CPU)$/);
  });

  it("dims what is not of the device or segment that is looked at", () => {
    expect(show().cards.dimmed).toBeNull();
    const cpu = show({ isolated: "cpu" }).cards.dimmed!;
    const shown = [...picture.scene.boxOfNode].filter((each) => each >= 0);
    expect(shown.some((each) => cpu[each] === 1)).toBe(true);
    expect(shown.some((each) => cpu[each] === 0)).toBe(true);
  });

  it("makes colours again for another mode only, and nothing when nothing changed", () => {
    const select = createGraphPicture();
    const first = select(STATE)!;
    expect(select(with_({ notices: [] }))).toBe(first);
    const selected = select(with_({ selection: { kind: "node", key: sampleGraph.key, node: linear } }))!;
    expect(selected.cards.selectedBox).toBe(box);
    expect(selected.paint).toBe(first.paint);
    expect(selected.cards.quantity).toBe(first.cards.quantity);
    expect(select(with_({ graphMode: "bytes" }))!.paint).not.toBe(first.paint);
  });
});
