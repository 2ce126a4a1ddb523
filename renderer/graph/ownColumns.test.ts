import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../engine/fake/decoder.ts";
import { createGraphModel, nodeType, producersOf } from "./graphModel.ts";
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

  it("number the element types", () => {
    const overlay = ownOverlay(model, "type");
    overlay!.values.forEach((number, node) =>
      expect(nodeType(model.view, node).startsWith(overlay!.legend[number] ?? "?")).toBe(true),
    );
    expect(new Set(overlay!.legend).size).toBe(overlay!.legend.length);
  });

  it("leave to the engine what only the engine knows", () => {
    expect(ownOverlay(model, "time")).toBeNull();
    expect(ownOverlay(model, "device")).toBeNull();
  });
});
