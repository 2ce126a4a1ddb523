import { describe, expect, it } from "vitest";
import { DEVICES, deviceCode } from "../../../main/contract/views/common.ts";
import type { HopView, RouteView } from "../../../main/contract/views/route.ts";
import { decoderGraph, QWEN_SHAPE } from "../../testing/decoderGraph.ts";
import { allGroups, classify } from "../../graph/fold.ts";
import type { Rect } from "../../graph/gridIndex.ts";
import { createGridIndex } from "../../graph/gridIndex.ts";
import { createGraphModel, groupName, opName } from "../../graph/graphModel.ts";
import { hopChip } from "../../graph/hopWords.ts";
import { layoutScene } from "../../graph/layout.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { placeChips } from "../../drawing/chips.ts";
import { hopMarks, hopsInside } from "../../drawing/hops.ts";
import { rectOfBox } from "./view.ts";

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

  it("keep their chips apart and off the boxes", () => {
    // Every block open and every attention elsewhere: hops between neighbours, and hops past other boxes.
    const elsewhere = Int32Array.from(segments, (_, node) =>
      opName(view, node) === "attention" ? 1 : inHead(node) ? 2 : 0,
    );
    const ways = [
      [0, 1],
      [1, 0],
      [0, 2],
    ].map(([fromSegment = 0, toSegment = 0]) => ({ ...hop, fromSegment, toSegment }));
    const open = layoutScene(model, { open: allGroups(model), classes });
    const crossing = hopMarks(open, { hops: ways } as unknown as RouteView, elsewhere);
    const all = new Map([...crossing.keys()].map((edge, i) => [edge, { hop: i, chip: "A→C  1 KB  ~1 µs" }]));
    expect(all.size).toBeGreaterThan(4);
    const chips = placeChips(open, all, {
      widthOf: (text) => text.length * 6,
      boxes: createGridIndex(open),
      taken: [],
    });
    const meet = (a: Rect, b: Rect): boolean =>
      a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
    chips.forEach(({ rect: a }, i) => {
      for (const { rect: b } of chips.slice(i + 1)) expect(meet(a, b)).toBe(false);
      for (let box = 0; box < open.boxCount; box++)
        if (open.kind[box] !== BOX_KINDS.frame) expect(meet(a, rectOfBox(open, box))).toBe(false);
    });
  });
});
