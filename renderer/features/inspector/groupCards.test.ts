// Why the work of a group is not on the Neural Engine, down to the operations that an op became.
import { describe, expect, it } from "vitest";
import type { RouteView } from "../../../main/contract/views/route.ts";
import { answerTo } from "../../engine/recorded/replay.ts";
import { sampleGraph, sampleId, sampleRoute, sampleTarget } from "../../testing/sample.ts";
import { createGraphModel, groupName, opName } from "../../graph/graphModel.ts";
import { differences, summarise } from "./GroupCards.tsx";

const view = sampleGraph;
const block = Array.from(view.groups.parent, (_, group) => group).find((group) => groupName(view, group) === "block 1");

describe("a group in sum", () => {
  const of = (route: RouteView) => summarise(createGraphModel(view), [block ?? -1], route);

  it("gives the reasons of operations elsewhere, where its ops themselves are on the Neural Engine", () => {
    const elsewhere = "Casts between integers and halves are done on the CPU.";
    const groups = [
      { device: "ane", rule: { sentence: "It fits." } },
      { device: "cpu", rule: { sentence: elsewhere } },
    ];
    const lowerings = [...sampleRoute.lowerings, { follows: "", groups }] as unknown as RouteView["lowerings"];
    const lowering = sampleRoute.nodes.lowering.map((at, n) =>
      opName(view, n) === "rms_norm" ? lowerings.length - 1 : at,
    );
    const { devices, reasons, ops } = of({ ...sampleRoute, lowerings, nodes: { ...sampleRoute.nodes, lowering } });
    expect([...devices.keys()]).toEqual(["ane"]);
    expect(reasons.get(elsewhere)).toEqual({ device: "cpu", ops: ops.get("rms_norm") });
  });

  it("gives the reasons of ops that are one operation", () => {
    const target = { ...sampleTarget, units: "cpu" } as const;
    const { devices, reasons } = of(answerTo("route.get", { model: sampleId, target, phase: "decode" }));
    expect([...devices.keys()]).toEqual(["cpu"]);
    const placed = devices.get("cpu")?.ops;
    expect(placed).toBeGreaterThan(20);
    expect([...reasons]).toEqual([["The target allows the CPU only.", { device: "cpu", ops: placed }]]);
  });

  it("of a stack adds up its blocks", () => {
    const model = createGraphModel(view);
    const blocks = Array.from(view.groups.parent.keys()).filter((at) => /^block [12]$/.test(groupName(view, at)));
    const [one, two] = blocks.map((each) => summarise(model, [each], sampleRoute));
    const both = summarise(model, blocks, sampleRoute);
    expect(blocks).toHaveLength(2);
    expect(both.ops.get("linear")).toBe(one!.ops.get("linear")! + two!.ops.get("linear")!);
    expect(both.work).toBeCloseTo(one!.work + two!.work, 9);
  });

  it("of a stack lists the blocks that differ, those of one kind together", () => {
    const notes = new Map([
      [3, "a"],
      [4, "b"],
      [7, "b"],
    ]);
    expect(differences([2, 3, 4, 7], (at) => notes.get(at) ?? "")).toEqual([
      { note: "b", blocks: [4, 7] },
      { note: "a", blocks: [3] },
    ]);
  });
});
