import { describe, expect, it } from "vitest";
import { nodeDataText, nodePath } from "../../main/contract/nodeData.ts";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { createGraphModel, nodeName } from "./graphModel.ts";
import { nodeDataColumn, parseNodeData, rampColor } from "./nodeData.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const model = createGraphModel(decoderGraph({ ...QWEN_SHAPE, layers: 2 }, key));
const { view } = model;
const shown = [...view.nodes.id.keys()].filter((node) => model.hidden[node] === 0);
const read = (value: unknown) => parseNodeData("d.json", JSON.stringify(value));

describe("node data", () => {
  it("name nodes by id, by path, or by a name that several have", () => {
    const [first = 0, , third = 0] = shown;
    const downs = shown.filter((node) => nodeName(view, node) === "ffn_down");
    const data = read({
      graph: {
        results: {
          [String(view.nodes.id[first])]: { value: 1 },
          [nodePath(view, third)]: { value: -2.5 },
          ffn_down: { value: 3 },
          elsewhere: { value: 4 },
        },
      },
    });
    const column = nodeDataColumn(model, data);
    expect(downs).toHaveLength(2);
    expect([first, third, ...downs].map((node) => column.values[node])).toEqual([1, -2.5, 3, 3]);
    expect(column.known).toBe(3);
    expect(column.values.filter((value) => !Number.isNaN(value))).toHaveLength(4);
  });

  it("come back as they were written", () => {
    const values = Float32Array.from({ length: view.nodeCount }, (_, node) => (node % 3 === 0 ? Number.NaN : node / 8));
    const again = nodeDataColumn(model, parseNodeData("x", nodeDataText(view, values)));
    for (const node of shown) expect(again.values[node]).toEqual(values[node]);
  });

  it("take the ramp of the file, between its stops, and only colours that are read", () => {
    const { gradient } = read({
      results: { a: { value: 1 } },
      gradient: [
        { stop: 1, bgColor: "#fff" },
        { stop: 0, bgColor: "#000000" },
        { stop: 0.5, bgColor: "url(https://x)" },
      ],
    });
    expect(gradient.map(({ stop }) => stop)).toEqual([0, 1]);
    expect(rampColor(gradient, 0.5)).toBe("rgb(128 128 128)");
    expect(rampColor(gradient, 2)).toBe("rgb(255 255 255)");
    expect(rampColor([], 0)).toBe("rgb(0 32 77)");
  });

  it("skip what is no number, and keep prototypes out of it", () => {
    const data = parseNodeData("d", '{"results": {"__proto__": {"value": 7}, "a": {"value": "x"}, "b": 2}}');
    expect([...data.values]).toEqual([
      ["__proto__", 7],
      ["b", 2],
    ]);
    expect(data.skipped).toBe(1);
  });

  it.each([
    ["{", "got something else, expected JSON"],
    ["[1]", "got JSON without results"],
    ['{"results": {"a": {"value": null}}}', "got 1 values that are no numbers"],
  ])("refuse %s", (text, says) => {
    expect(() => parseNodeData("d.json", text)).toThrow(says);
  });
});
