import { describe, expect, it } from "vitest";
import { deviceCode, deviceOf } from "../../../main/contract/views/common.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { testDevice } from "../../devices/testDevices.ts";
import { answerTo } from "../../engine/recorded/replay.ts";
import { plannedRoute, sampleGraph, sampleId, sampleRoute, sampleTarget } from "../../testing/sample.ts";
import { opName } from "../../graph/graphModel.ts";
import { IDLE, loading, ready } from "../../session/async.ts";
import {
  mlxTotals,
  nodeTruths,
  PLAN_NEEDS,
  plannedRuns,
  plannedSegments,
  truthRows,
  weightErrorText,
} from "./routing.ts";

const [route, view] = [sampleRoute, sampleGraph];
const planned = plannedRoute(route, view);
const moved = planned.firstDifference?.node ?? -1;
const coreml = (available: boolean, sentence: string) =>
  testDevice("coreml", { title: "Core ML", available, sentence });

const NOTHING = { profile: null, isGraph: false };

describe("the three truths of a route", () => {
  it("are named predicted, planned, observed, each with a sentence", () => {
    const rows = truthRows(route, IDLE, coreml(false, "Core ML exists on Macs only."), NOTHING);
    expect(rows.map(({ truth }) => truth)).toEqual(["predicted", "planned", "observed"]);
    expect(rows.map(({ here }) => here)).toEqual([true, false, false]);
    expect(rows[1]?.sentence).toBe(`None here: Core ML exists on Macs only. ${PLAN_NEEDS}`);
    expect(rows[2]?.sentence).toContain("No recording on Core ML yet. Profile makes one");
    // A graph without a model has no tab Profile.
    const ofGraph = truthRows(route, IDLE, coreml(true, "Apple M4"), { profile: null, isGraph: true });
    expect(ofGraph[2]?.sentence).not.toContain("Profile");
  });

  it("tell a plan from a simulated one, and from none that could be asked for", () => {
    const here = coreml(true, "Apple M4");
    expect(truthRows(route, IDLE, here, NOTHING)[1]).toMatchObject({ here: false, brief: "not loaded yet" });
    expect(truthRows(route, loading(IDLE), here, NOTHING)[1]).toMatchObject({ here: false, brief: "loading" });
    expect(truthRows(route, ready(planned), here, NOTHING)[1]).toMatchObject({
      here: true,
      sentence: planned.sentence,
      simulated: false,
    });
    expect(truthRows(route, ready({ ...planned, truth: "simulated" }), here, NOTHING)[1]?.sentence).toContain(
      "The system was simulated.",
    );
    expect(truthRows(route, ready({ ...planned, refusal: "Not on macOS 13." }), here, NOTHING)[1]?.here).toBe(false);
  });

  it("call a recording on Core ML evidence for the whole, and one on another device none", () => {
    const recorded = (device: ProfileView["device"]) =>
      ({ device, decode: { seconds: { value: 0.0125 }, rows: [] } }) as unknown as ProfileView;
    const [, , observed] = truthRows(route, IDLE, coreml(true, "Apple M4"), {
      profile: recorded("coreml"),
      isGraph: false,
    });
    expect(observed).toMatchObject({ here: true });
    expect(observed?.sentence).toMatch(/12\.5\sms a token/);
    expect(
      truthRows(route, IDLE, coreml(true, "Apple M4"), { profile: recorded("cpu"), isGraph: false })[2]?.here,
    ).toBe(false);
  });
});

describe("the plan beside the prediction", () => {
  it("differs in one op, which knows both devices", () => {
    expect(opName(view, moved)).toBe("attention_cached");
    expect(nodeTruths(moved, route, planned, null)).toMatchObject({ predicted: "ane", planned: "gpu", differs: true });
    const differing = Array.from(view.nodes.op.keys()).filter((node) => nodeTruths(node, route, planned, null).differs);
    expect(differing).toEqual([moved]);
    expect(nodeTruths(moved, route, null, null)).toMatchObject({ planned: "none", differs: false, mlx: null });
  });

  it("is counted by segment, and adds up", () => {
    const rows = plannedSegments(route, planned);
    expect(rows).toHaveLength(route.segments.length);
    const sum = (of: (row: NonNullable<typeof rows>[number]) => number): number =>
      (rows ?? []).reduce((all, row) => all + of(row), 0);
    expect(sum(({ told }) => told)).toBe(planned.joined);
    expect(sum(({ agreeing }) => agreeing)).toBe(planned.agreeing);
    const odd = rows?.filter(({ told, agreeing }) => told !== agreeing);
    expect(odd).toHaveLength(1);
    expect(odd?.[0]?.planned.map(({ device }) => device)).toContain("gpu");
    const other = { ...planned, nodes: { predicted: new Uint8Array(3), planned: new Uint8Array(3) } };
    expect(plannedSegments(route, other)).toBeUndefined();
  });

  it("follows the stretches of the ribbon by most of their work", () => {
    // An op without work does not turn its stretch.
    const { device, work } = route.nodes;
    const light = Array.from(device.keys()).find((node) => deviceOf(device[node] ?? 0) === "ane" && work[node] === 0);
    expect(light).toBeDefined();
    const one = device.map((code, node) => (node === light ? deviceCode("gpu") : code));
    const runs = plannedRuns(route, { ...planned, nodes: { predicted: device, planned: one } });
    expect(runs).toHaveLength(route.runs.firstNode.length);
    runs.forEach((code, run) => expect(deviceOf(code)).toBe(deviceOf(route.runs.device[run] ?? 0)));
    const everything = {
      predicted: planned.nodes.predicted,
      planned: planned.nodes.planned.map(() => deviceCode("gpu")),
    };
    expect(new Set(plannedRuns(route, { ...planned, nodes: everything }))).toEqual(new Set([deviceCode("gpu")]));
    const nothing = { predicted: planned.nodes.predicted, planned: planned.nodes.planned.map(() => 0) };
    expect(new Set(plannedRuns(route, { ...planned, nodes: nothing }))).toEqual(new Set([0]));
  });
});

describe("MLX as the alternative", () => {
  const onMlx = answerTo("route.mlx", { model: sampleId, phase: "decode", context: sampleTarget.context });
  it("has a state and a reason for each op, and totals", () => {
    expect(nodeTruths(moved, route, null, onMlx).mlx).toMatchObject({ state: "native" });
    expect(nodeTruths(moved, route, null, onMlx).mlx?.reason).toContain("attention");
    expect(mlxTotals(onMlx)).toMatch(/^\d+ native, none decomposed, none unsupported$/);
  });
  it("calls a weight exact only where it is", () => {
    expect(weightErrorText({ value: 0 })).toBe("exact");
    expect(weightErrorText({ value: 2.1e-4 })).toBe("2.1e-4");
    expect(weightErrorText(null)).toBe("not known: no data");
  });
});
