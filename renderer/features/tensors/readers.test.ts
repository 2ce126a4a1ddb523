import { expect, it } from "vitest";
import type { GraphView } from "../../../main/contract/views/graph.ts";
import { NODE_FLAGS } from "../../../main/contract/views/graph.ts";
import { createGraphModel } from "../../graph/graphModel.ts";
import { readersOf } from "./readers.ts";

/**
 * Two parameters; a linear reads the first, an add reads it through a constant; the second has no
 * reader.
 */
const view: GraphView = {
  key: { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" },
  title: "",
  nodeCount: 5,
  edgeCount: 3,
  strings: ["", "a.weight", "b.weight", "linear"],
  nodes: {
    id: new Uint32Array(5),
    op: new Uint32Array(5),
    name: new Uint32Array([1, 2, 3, 0, 3]),
    type: new Uint32Array(5),
    weight: new Uint32Array(5),
    group: new Uint32Array(5),
    flags: new Uint8Array([NODE_FLAGS.param, NODE_FLAGS.param, 0, NODE_FLAGS.constant, 0]),
    bytesRead: new Float32Array(5),
  },
  edges: {
    start: new Uint32Array([0, 0, 0, 1, 2, 3]),
    source: new Uint32Array([0, 0, 3]),
    output: new Uint8Array(3),
    type: new Uint32Array(3),
    bytes: new Float32Array(3),
  },
  groups: {
    parent: new Int32Array([-1]),
    kind: new Uint8Array(1),
    name: new Uint32Array(1),
    structure: new Uint32Array(1),
    firstNode: new Uint32Array(1),
    nodeCount: new Uint32Array([5]),
    note: new Uint32Array(1),
    words: new Uint32Array(1),
  },
};

it("finds the ops that read a tensor, also through what is not drawn", () => {
  const model = createGraphModel(view);
  expect(readersOf(model, "a.weight")).toEqual([2, 4]);
  expect(readersOf(model, "b.weight")).toEqual([]);
  expect(readersOf(model, "linear")).toEqual([]);
});
