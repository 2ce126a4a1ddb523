import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { classify, foldGraph } from "../graph/fold.ts";
import { createGraphModel, groupName, opName } from "../graph/graphModel.ts";
import { rowsWithin, treeRows } from "./treeRows.ts";

const view = decoderGraph(
  { ...QWEN_SHAPE, layers: 6, oddLayers: [3] },
  { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" },
);
const model = createGraphModel(view);
const classes = classify(model, null);
const rows = (open: readonly string[]): string[] => {
  const groups = new Set(Array.from(view.groups.parent.keys()).filter((g) => open.includes(groupName(view, g))));
  return treeRows(model, foldGraph(model, { open: groups, classes }), classes).map(
    ({ depth, title, aside }) => `${" ".repeat(depth)}${title} (${aside})`,
  );
};

describe("the structure tree", () => {
  it("has a heading for repeated blocks, with the odd one out named", () => {
    expect(rows([]).slice(4)).toEqual([
      "embedding (1)",
      "blocks (×6)",
      " 0 – 2 (same)",
      " 3 (differs)",
      " 4 – 5 (same)",
      "head (2)",
    ]);
  });

  it("opens in place", () => {
    expect(rows(["block 1"]).slice(5, 13)).toEqual([
      "blocks (×6)",
      " 0 (same)",
      " 1 (same)",
      "  attention (15)",
      "  add (residual)",
      "  feed-forward (4)",
      "  add (residual)",
      " 2 (same)",
    ]);
  });

  it("knows the rows that a segment has a part in", () => {
    const segments = Int32Array.from({ length: view.nodeCount }, (_, n) => (opName(view, n) === "attention" ? 0 : -1));
    const folded = treeRows(model, foldGraph(model, { open: new Set(), classes }), classes);
    const titles = (segment: number): string[] => {
      const within = rowsWithin(model, folded, segments, segment);
      return folded.filter(({ key }) => within.has(key)).map(({ title }) => title);
    };
    expect(titles(0)).toEqual(["0 – 2", "3", "4 – 5"]);
    expect(titles(1)).toEqual([]);
  });
});
