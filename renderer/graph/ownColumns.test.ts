import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { createGraphModel, nodeWeight, producersOf } from "./graphModel.ts";
import { ownOverlay } from "./ownColumns.ts";

const KEY = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const model = createGraphModel(decoderGraph(QWEN_SHAPE, KEY));

describe("overlays that the graph holds itself", () => {
  it("add up the bytes a node reads", () => {
    const overlay = ownOverlay(model, "bytes");
    const { edges, nodeCount } = model.view;
    const total = edges.bytes.reduce((sum, bytes) => sum + bytes, 0);
    expect(total).toBeGreaterThan(0);
    expect(overlay!.values.reduce((sum, bytes) => sum + bytes, 0) / total).toBeCloseTo(1, 4);
    for (let node = 0; node < nodeCount; node++)
      if (producersOf(model, node).length === 0) expect(overlay!.values[node]).toBe(0);
  });

  it("number the types of weights, of ops that have one", () => {
    const { values, legend } = ownOverlay(model, "type")!;
    expect(new Set(legend).size).toBe(legend.length);
    expect(legend).toContain("q4_k");
    values.forEach((number, node) => {
      const type = model.hidden[node] === 1 ? "" : nodeWeight(model.view, node);
      expect(Number.isNaN(number) ? "" : legend[number]).toBe(type);
    });
  });

  it("leave to the engine what only the engine knows", () => {
    expect(ownOverlay(model, "time")).toBeNull();
    expect(ownOverlay(model, "device")).toBeNull();
  });
});
