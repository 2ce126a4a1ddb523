import { describe, expect, it } from "vitest";
import { deviceCode } from "../../main/contract/views/common.ts";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { createGraphModel, nodeName, nodeWeight, opName, pathOf, groupName } from "./graphModel.ts";
import { facetsOf, hasFacet, withFacet } from "./facets.ts";
import { OP_KINDS } from "./opKinds.ts";
import { parseQuery, searchFault, searchNodes } from "./search.ts";

const view = decoderGraph(
  { ...QWEN_SHAPE, layers: 8 },
  { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" },
);
const model = createGraphModel(view);
const device = new Uint8Array(view.nodeCount).fill(deviceCode("ane"));
const work = new Float32Array(view.nodeCount).fill(0.001);
const attention7 = Array.from({ length: view.nodeCount }, (_, n) => n).filter(
  (n) => opName(view, n) === "attention",
)[7]!;
device[attention7] = deviceCode("gpu");
work[attention7] = 0.05;
const find = (text: string): readonly number[] => searchNodes(model, parseQuery(text), { device, work });

const fault = (text: string): string | null => searchFault(parseQuery(text), { device, work });

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
    expect(find("cost>1")).toEqual([attention7]);
    expect(find("cost>4 layer:7")).toEqual([attention7]);
    expect(find("cost>4 layer:6")).toEqual([]);
    expect(find("cost>6")).toEqual([]);
    expect(find("op:linear dtype:q6_k layer:2").map((n) => nodeName(view, n))).toEqual(["attn_v", "ffn_down"]);
  });

  it("wants every word, each in any column", () => {
    expect(find("ffn_down q6").map((n) => nodeWeight(view, n))).toEqual(find("ffn_down dtype:q6_k").map(() => "q6_k"));
    expect(find("ffn_down q6").length).toBeGreaterThan(0);
    expect(find("ffn_down bf16")).toEqual([]);
    expect(find("norm layer:2 kind:norm")).toEqual(find("kind:norm layer:2"));
    expect(find("kind:matmul").every((n) => OP_KINDS[model.kinds[n]!] === "matmul")).toBe(true);
  });

  it("finds nothing for nothing", () => {
    expect(find("  ")).toEqual([]);
    expect(fault("  ")).toBeNull();
  });

  it.each([
    ["dev:tpu", "dev:tpu: expected ane, gpu, cpu or host"],
    ["swiglu layer:x", "layer:x: expected a number, as in layer:7"],
    ["layer:", "layer:: expected op:, kind:, dev:, dtype:, layer: or cost> and a value"],
    ["device:gpu", "device:gpu: expected op:, kind:, dev:, dtype:, layer: or cost> and a value"],
    ["kind:big", `kind:big: expected one of ${OP_KINDS.join(", ")}`],
    ["cost>much", "cost>much: expected a share of the work, as in cost>1%"],
    ["cost<1", "cost<1: expected a share of the work, as in cost>1%"],
  ])("says what %s should have been, and finds nothing by it", (text, says) => {
    expect(fault(text)).toBe(says);
    expect(find(text)).toEqual([]);
  });

  it("says where devices and work are not known", () => {
    const none = { device: null, work: null };
    expect(searchFault(parseQuery("dev:gpu"), none)).toBe("dev: needs the graph as it is placed for the target");
    expect(searchFault(parseQuery("cost>1"), none)).toBe("cost> needs the graph as it is placed for the target");
    for (const text of ["op:linear", "dtype:q8_0 layer:2", "blk.3.ffn_down.weight", "cost"])
      expect(searchFault(parseQuery(text), none)).toBeNull();
    expect(fault("dev:gpu cost>1 layer:7")).toBeNull();
  });
});

describe("facets", () => {
  it("say how many of the hits each would leave, most first", () => {
    const hits = find("attention");
    const facets = facetsOf(model, hits, device);
    for (const { token, hits: count } of facets) expect(find(`attention ${token}`).length, token).toBe(count);
    expect(facets.find(({ token }) => token === "dev:gpu")?.hits).toBe(1);
    expect(new Set(facets.map(({ token }) => token.split(":")[0]))).toEqual(new Set(["kind", "dev", "dtype", "layer"]));
  });

  it("leave out what all hits have", () => {
    expect(facetsOf(model, [attention7], device)).toEqual([]);
  });

  it("are put into the search and taken out of it", () => {
    expect(withFacet("swiglu", "layer:7")).toBe("swiglu layer:7");
    expect(hasFacet("Swiglu  layer:7", "layer:7")).toBe(true);
    expect(withFacet("swiglu layer:7 op:add", "layer:7")).toBe("swiglu op:add");
  });
});
