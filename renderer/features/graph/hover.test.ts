import { describe, expect, it } from "vitest";
import { allGroups, classify } from "../../graph/fold.ts";
import { createGraphModel, nodeName, opName } from "../../graph/graphModel.ts";
import { layoutScene } from "../../graph/layout.ts";
import { decoderGraph, QWEN_SHAPE } from "../../testing/decoderGraph.ts";
import { aroundBox, edgesOfBoxes } from "./hover.ts";
import { shapeOf, shapeText } from "../../drawing/shapeText.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const model = createGraphModel(decoderGraph({ ...QWEN_SHAPE, layers: 2 }, key));
const { view } = model;
const classes = classify(model, null);
const pictureOf = (open: ReadonlySet<number>) => ({
  ...{ model, classes, rough: classes, serial: 1 },
  scene: layoutScene(model, { open, classes }),
});

describe("what lies around a box", () => {
  it("is what an op reads, and all that read it, through frames and stubs", () => {
    const picture = pictureOf(allGroups(model));
    const { scene } = picture;
    const attention = [...view.nodes.id.keys()].find((node) => opName(view, node) === "attention") ?? 0;
    const around = aroundBox(picture, edgesOfBoxes(scene), scene.boxOfNode[attention] ?? 0);
    const names = (boxes: ReadonlySet<number>): string[] =>
      [...boxes].map((box) => nodeName(view, scene.ref[box] ?? 0)).sort();
    const reads = [...view.edges.source.subarray(view.edges.start[attention], view.edges.start[attention + 1])]
      .filter((node) => model.hidden[node] === 0)
      .map((node) => nodeName(view, node));
    expect(names(around.producers)).toEqual([...new Set(reads)].sort());
    expect(around.consumers.size).toBeGreaterThan(0);
    for (const edge of around.edges) {
      const ends = [scene.edgeSource[edge], scene.edgeTarget[edge]];
      expect(ends).toContain(attention);
    }
  });

  it("of a folded group is what its edges lead to", () => {
    const picture = pictureOf(new Set());
    const { scene } = picture;
    const stack = [...scene.kind].indexOf(2);
    const around = aroundBox(picture, edgesOfBoxes(scene), stack);
    const above = [...scene.edgeTo.keys()].filter((edge) => scene.edgeTo[edge] === stack);
    expect(around.producers).toEqual(new Set(above.map((edge) => scene.edgeFrom[edge] ?? -1)));
    expect(around.edges).toHaveLength([...around.producers].length + [...around.consumers].length);
  });
});

describe("the words of an edge", () => {
  it("are its shape, without the element type", () => {
    expect(shapeOf("f32[1,T,64]")).toBe("1×T×64");
    expect(shapeOf("i32[]")).toBe("");
    expect(shapeOf("q4_k[4096, 1024]")).toBe("4096×1024");
  });

  it("count the values of an edge that stands for several", () => {
    const { scene } = pictureOf(new Set());
    for (let edge = 0; edge < scene.edgeCount; edge++) {
      const values = scene.edgeValues[edge] ?? 0;
      if (values > 1) expect(shapeText(model, scene, edge)).toBe(`${values} values`);
      else expect(shapeText(model, scene, edge)).not.toMatch(/[[\]]/);
    }
  });
});
