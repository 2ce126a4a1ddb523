// Why the work of a group is not on the Neural Engine, down to the operations that an op became.
import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../../engine/fake/decoder.ts";
import { M4 } from "../../engine/fake/overview.ts";
import { fakeRoute } from "../../engine/fake/route.ts";
import { createGraphModel, groupName } from "../../graph/graphModel.ts";
import { summarise } from "./GroupCards.tsx";

const view = decoderGraph(
  { ...QWEN_SHAPE, layers: 4, oddLayers: [] },
  { model: "m", stage: { backend: "coreml", step: "legal", target: M4 }, phase: "decode" },
);
const block = Array.from(view.groups.parent, (_, group) => group).find((group) => groupName(view, group) === "block 1");

describe("a group in sum", () => {
  const of = (route: ReturnType<typeof fakeRoute>) => summarise(createGraphModel(view), block ?? -1, route);

  it("gives the reasons of operations elsewhere, where its ops themselves are on the Neural Engine", () => {
    const { devices, reasons, ops } = of(fakeRoute(view, M4, "decode", ""));
    expect([...devices.keys()]).toEqual(["ane"]);
    expect([...reasons]).toEqual([
      ["Casts between integers and halves are done on the CPU.", { device: "cpu", ops: ops.get("rms_norm") }],
    ]);
  });

  it("gives the reasons of ops that are one operation", () => {
    const { devices, reasons } = of(fakeRoute(view, { ...M4, units: "cpu" }, "decode", ""));
    expect([...devices.keys()]).toEqual(["cpu"]);
    const placed = devices.get("cpu")?.ops;
    expect(placed).toBeGreaterThan(20);
    expect([...reasons]).toEqual([["Only the CPU was allowed.", { device: "cpu", ops: placed }]]);
  });
});
