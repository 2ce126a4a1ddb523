import { describe, expect, it } from "vitest";
import { DEVICES, deviceCode } from "../../../main/contract/views/common.ts";
import type { HopView, RouteView } from "../../../main/contract/views/route.ts";
import { decoderGraph, QWEN_SHAPE } from "../../engine/fake/decoder.ts";
import { classify } from "../../graph/fold.ts";
import { createGraphModel, groupName, opName } from "../../graph/graphModel.ts";
import { hopChip } from "../../graph/hopWords.ts";
import { layoutScene } from "../../graph/layout.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { placeChips } from "./drawEdges.ts";
import { hopMarks, hopsInside } from "./hops.ts";

const view = decoderGraph(
  { ...QWEN_SHAPE, layers: 2 },
  { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" },
);
const model = createGraphModel(view);
const headGroup = [...view.groups.parent.keys()].find((group) => groupName(view, group) === "head")!;
const inHead = (node: number): boolean => view.nodes.group[node] === headGroup;
const device = Uint8Array.from({ length: view.nodeCount }, (_, node) => deviceCode(inHead(node) ? "cpu" : "ane"));
const segments = Int32Array.from(device, (code) => (DEVICES[code] === "cpu" ? 1 : 0));
/** The lowered program hands over more than the one value that the graph draws as an edge. */
const hop: HopView = {
  fromSegment: 0,
  toSegment: 1,
  from: "ane",
  to: "cpu",
  values: 9,
  bytes: 2560,
  seconds: { value: 230e-6, low: null, high: null, unit: "seconds", truth: "predicted", basis: "" },
};
const route = { hops: [hop] } as unknown as RouteView;

describe("hops in the graph", () => {
  const classes = classify(model, device);
  const scene = layoutScene(model, { open: new Set(), classes });
  const marks = hopMarks(scene, route, segments);

  it("have one chip each, with the hop's own bytes and time and never an edge's", () => {
    const chips = [...marks.values()].filter(({ chip }) => chip !== "");
    expect(chips).toEqual([{ hop: 0, chip: hopChip(hop) }]);
    expect(chips[0]!.chip).toMatch(/2\.56\s*KB/);
    const [edge] = [...marks.entries()].find(([, { chip }]) => chip !== "")!;
    expect(scene.edgeBytes[edge]).not.toBe(hop.bytes);
  });

  it("are drawn only where a hop of the route is", () => {
    expect(hopMarks(scene, { hops: [] } as unknown as RouteView, segments).size).toBe(0);
  });

  it("are counted where a folded group hides them", () => {
    // Every attention runs elsewhere: folded blocks hide the way there and back.
    const elsewhere = Int32Array.from(segments, (_, node) =>
      opName(view, node) === "attention" ? 1 : inHead(node) ? 2 : 0,
    );
    const hops = [
      { ...hop, fromSegment: 0, toSegment: 1 },
      { ...hop, fromSegment: 1, toSegment: 0 },
    ];
    const found = hopsInside({ scene, model }, { hops } as unknown as RouteView, elsewhere);
    expect([...found].map(([box, n]) => [scene.kind[box], n])).toEqual([[BOX_KINDS.stack, 2]]);
    expect(hopsInside({ scene, model }, route, segments).size).toBe(0);
  });

  it("keep their chips apart", () => {
    const both = new Map([...marks.keys(), 0].map((edge, i) => [edge, { hop: i, chip: "A→C  1 KB  ~1 µs" }]));
    const same = [...both.keys()].map((edge) => edge);
    const chips = placeChips(scene, [...same, ...same], both, (text) => text.length * 6);
    chips.forEach(({ rect: a }, i) =>
      chips.slice(i + 1).forEach(({ rect: b }) => {
        const apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
        expect(apart).toBe(true);
      }),
    );
  });
});
