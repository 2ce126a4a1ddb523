import { describe, expect, it } from "vitest";
import { deviceCode } from "../../main/contract/views/common.ts";
import { decoderGraph, QWEN_SHAPE } from "../engine/fake/decoder.ts";
import { createGraphModel, nodeName, opName, pathOf, groupName } from "./graphModel.ts";
import { parseQuery, searchNodes } from "./search.ts";

const view = decoderGraph({ ...QWEN_SHAPE, layers: 8 }, { model: "m", stage: { kind: "initial" }, phase: "decode" });
const model = createGraphModel(view);
const device = new Uint8Array(view.nodeCount).fill(deviceCode("ane"));
const work = new Float32Array(view.nodeCount).fill(0.001);
const attention7 = Array.from({ length: view.nodeCount }, (_, n) => n).filter(
  (n) => opName(view, n) === "attention",
)[7]!;
device[attention7] = deviceCode("gpu");
work[attention7] = 0.05;
const find = (text: string): readonly number[] => searchNodes(model, parseQuery(text), { device, work });

describe("search", () => {
  it("finds words in op, name and the groups around", () => {
    expect(
      find("attention").every(
        (n) => opName(view, n) === "attention" || pathOf(view, n).some((g) => groupName(view, g) === "attention"),
      ),
    ).toBe(true);
    expect(find("swiglu")).toHaveLength(8);
    expect(find("block 7 swiglu").length).toBe(1);
    expect(find("ATTN_Q_NORM")).toHaveLength(8);
  });

  it("finds the ops that read a tensor by the tensor's name", () => {
    const [node] = find("blk.3.ffn_down.weight");
    expect(nodeName(view, node!)).toBe("ffn_down");
  });

  it("narrows down by facets, all of which must hold", () => {
    expect(find("op:attention")).toHaveLength(8);
    expect(find("op:attention dev:gpu")).toEqual([attention7]);
    expect(find("dev:gpu")).toEqual([attention7]);
    expect(find("cost>1%")).toEqual([attention7]);
    expect(find("cost>0.04 layer:7")).toEqual([attention7]);
    expect(find("cost>0.04 layer:6")).toEqual([]);
    expect(find("op:linear dtype:q6_k layer:2").map((n) => nodeName(view, n))).toEqual(["attn_v", "ffn_down"]);
  });

  it("finds nothing for nothing, and nothing for an unknown device", () => {
    expect(find("  ")).toEqual([]);
    expect(find("dev:tpu")).toEqual(find("nothing-has-this-name"));
  });
});
