import { describe, expect, it } from "vitest";
import type { PassDiff } from "../../../main/contract/views/graph.ts";
import { decoderGraph, QWEN_SHAPE } from "../../testing/decoderGraph.ts";
import { classify } from "../../graph/fold.ts";
import { createGraphModel, opName } from "../../graph/graphModel.ts";
import { layoutScene } from "../../graph/layout.ts";
import { BOX_KINDS } from "../../graph/lift.ts";
import { changedBoxes, changesOn, nextRegion } from "../../drawing/changes.ts";
import { shownStep } from "./graphState.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const view = decoderGraph({ ...QWEN_SHAPE, layers: 3 }, key);
const model = createGraphModel(view);
const nodesOf = (op: string): number[] => [...Array(view.nodeCount).keys()].filter((n) => opName(view, n) === op);
const ids = (nodes: readonly number[]): Uint32Array => Uint32Array.from(nodes, (node) => view.nodes.id[node]!);
const diff = (part: Partial<PassDiff>): PassDiff => ({
  pass: "fuse",
  beforeTitle: "after pass 1",
  afterTitle: "after fuse",
  before: "",
  after: "",
  elidedLines: 0,
  addedIds: new Uint32Array(0),
  removedIds: new Uint32Array(0),
  changedIds: new Uint32Array(0),
  ...part,
});

describe("what a pass did", () => {
  const attention = nodesOf("attention");
  const rope = nodesOf("rope");

  it("lights what was taken away before, what was made after, and what was changed on both sides", () => {
    const pass = diff({ removedIds: ids(rope), addedIds: Uint32Array.of(0xffffff), changedIds: ids(attention) });
    const before = changesOn(model, pass, "before");
    expect([...before.nodes].filter(([, kind]) => kind === "removed").map(([node]) => node)).toEqual(rope);
    expect([...before.nodes].filter(([, kind]) => kind === "changed").map(([node]) => node)).toEqual(attention);
    const after = changesOn(model, pass, "after");
    expect([...after.nodes.values()].every((kind) => kind === "changed")).toBe(true);
    expect(after.counts).toEqual({ added: 1, removed: rope.length, changed: attention.length });
  });

  it("makes one region of what lies in one group, and steps round the program", () => {
    const { regions } = changesOn(model, diff({ changedIds: ids([...rope, ...attention]) }), "after");
    expect(regions.length).toBe(3);
    expect(nextRegion(regions, -1, 1)).toBe(regions[0]);
    expect(nextRegion(regions, regions[0]!, 1)).toBe(regions[1]);
    expect(nextRegion(regions, regions[2]!, 1)).toBe(regions[0]);
    expect(nextRegion(regions, regions[0]!, -1)).toBe(regions[2]);
    expect(nextRegion([], 5, 1)).toBeNull();
  });

  it("marks folded groups that hold a change", () => {
    const classes = classify(model, null);
    const scene = layoutScene(model, { open: new Set(), classes });
    const { nodes } = changesOn(model, diff({ changedIds: ids(attention) }), "after");
    const boxes = changedBoxes(scene, nodes);
    expect([...boxes.keys()].map((box) => scene.kind[box])).toEqual([BOX_KINDS.stack]);
  });

  it("asks for the graph on either side of a pass", () => {
    const passes = [{ name: "fold" }, { name: "fuse" }];
    const step = (name: string, side: "before" | "after") => shownStep({ step: name, side }, passes);
    expect([step("fuse", "after"), step("fuse", "before"), step("fold", "before")]).toEqual(["fuse", "fold", "built"]);
  });
});
