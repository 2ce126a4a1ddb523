import { describe, expect, it } from "vitest";
import { decoderGraph, QWEN_SHAPE } from "../testing/decoderGraph.ts";
import { allGroups, classify, classifyRoughly, foldGraph, oddNote, stackNote, usualClass } from "./fold.ts";
import type { Shown } from "./fold.ts";
import {
  childrenOf,
  consumersOf,
  createGraphModel,
  groupName,
  nodeName,
  opName,
  pathOf,
  producersOf,
} from "./graphModel.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
const view = decoderGraph({ ...QWEN_SHAPE, layers: 6, oddLayers: [3] }, key);
const model = createGraphModel(view);
const groupNamed = (name: string): number =>
  Array.from(view.groups.parent.keys()).find((g) => groupName(view, g) === name)!;
const nodesOf = (op: string): number[] =>
  Array.from({ length: view.nodeCount }, (_, n) => n).filter((n) => opName(view, n) === op);

function say(shown: readonly Shown[]): string[] {
  return shown.map((item) => {
    switch (item.kind) {
      case "op":
        return opName(view, item.node);
      case "group":
        return groupName(view, item.group);
      case "stack":
        return `${groupName(view, item.groups[0]!)}..${groupName(view, item.groups.at(-1)!)}`;
      case "frame":
        return `${groupName(view, item.group)}{${say(item.items).join(" ")}}`;
    }
  });
}

describe("the graph model", () => {
  it("keeps children in program order and hides parameters", () => {
    const top = [...childrenOf(model, 0)].map((code) => (code < 0 ? groupName(view, ~code) : opName(view, code)));
    expect(top).toEqual(["input", "input", "positions", "rope_table", "embedding", "blocks", "head"]);
    for (const node of nodesOf("param")) expect(model.hidden[node]).toBe(1);
  });

  it("finds producers, consumers and the groups around a node", () => {
    const attention = nodesOf("attention")[2]!;
    expect([...producersOf(model, attention)].map((n) => opName(view, n))).toEqual([
      "rope",
      "kv_append",
      "kv_append",
      "input",
    ]);
    expect([...consumersOf(model, attention)].map((n) => nodeName(view, n))).toEqual(["attn_output"]);
    expect(pathOf(view, attention).map((g) => groupName(view, g))).toEqual(["model", "blocks", "block 2", "attention"]);
  });

  it("knows what is read from everywhere", () => {
    expect(model.shared[nodesOf("rope_table")[0]!]).toBe(1);
    expect(model.shared[nodesOf("attention")[0]!]).toBe(0);
  });
});

describe("folding", () => {
  const classes = classify(model, null);

  it("stacks equal blocks and leaves the odd one out", () => {
    expect(say(foldGraph(model, { open: new Set(), classes }))).toEqual([
      "input",
      "input",
      "positions",
      "rope_table",
      "embedding",
      "block 0..block 2",
      "block 3",
      "block 4..block 5",
      "head",
    ]);
    expect(usualClass(model, groupNamed("blocks"), classes)).toBe(classes[groupNamed("block 0")]);
  });

  it("splits an opened block out of its stack", () => {
    const open = new Set([groupNamed("block 1")]);
    expect(say(foldGraph(model, { open, classes })).slice(5, 9)).toEqual([
      "block 0",
      "block 1{attention add feed-forward add}",
      "block 2",
      "block 3",
    ]);
  });

  it("does not let a block hide whose nodes run elsewhere", () => {
    const device = new Uint8Array(view.nodeCount).fill(1);
    device[nodesOf("attention")[5]!] = 2;
    const byDevice = classify(model, device);
    expect(say(foldGraph(model, { open: new Set(), classes: byDevice })).slice(5)).toEqual([
      "block 0..block 2",
      "block 3",
      "block 4",
      "block 5",
      "head",
    ]);
  });

  it("says what makes a block the odd one out", () => {
    const device = new Uint8Array(view.nodeCount).fill(1);
    device[nodesOf("attention")[5]!] = 2;
    const byDevice = classify(model, device);
    const note = (name: string): string =>
      oddNote(model, groupNamed(name), byDevice, device, (code) => ["none", "ANE", "GPU"][code]!);
    expect(note("block 5")).toBe("attention on GPU");
    expect(note("block 3")).toBe("attn_output is q6_k");
    expect(note("block 0")).toBe("");
    expect(note("head")).toBe("");
  });

  it("calls what is made once for all blocks no other device", () => {
    const device = new Uint8Array(view.nodeCount).fill(1);
    for (const node of nodesOf("attention").slice(1)) device[node] = 0;
    const byDevice = classify(model, device);
    const note = (name: string): string => oddNote(model, groupNamed(name), byDevice, device, () => "GPU");
    expect(note("block 0")).toBe("attention made once for all blocks");
    device.fill(1);
    device[nodesOf("attention")[5]!] = 0;
    expect(oddNote(model, groupNamed("block 5"), classify(model, device), device, () => "GPU")).toBe(
      "attention taken from another block",
    );
  });

  it("finds other weight types by itself when the engine gives no note", () => {
    const silent = createGraphModel({
      ...view,
      groups: { ...view.groups, note: new Uint32Array(view.groups.note.length) },
    });
    const note = oddNote(silent, groupNamed("block 3"), classify(silent, null), null, () => "");
    expect(note).toBe("attn_output in q6_k");
  });

  it("stacks blocks that only their weights tell apart when there would be too many pieces", () => {
    const mixed = createGraphModel(decoderGraph({ ...QWEN_SHAPE, layers: 20, oddLayers: [2, 5, 8, 11, 14, 17] }, key));
    const fine = classify(mixed, null);
    const rough = classifyRoughly(mixed, null);
    const blocks = (state: Parameters<typeof foldGraph>[1]) =>
      foldGraph(mixed, state).filter(({ kind }) => kind === "stack" || kind === "frame");
    expect(blocks({ open: new Set(), classes: fine }).length).toBeGreaterThan(5);
    const [stack, ...others] = blocks({ open: new Set(), classes: fine, rough });
    expect(others).toEqual([]);
    expect(stack?.kind === "stack" && stack.groups.length).toBe(20);
    const [first, last] = stack?.kind === "stack" ? [stack.groups[0]!, stack.groups.at(-1)!] : [0, 0];
    expect(stackNote(mixed, first, last, fine, () => "v in q6_k")).toBe("6 differ: v in q6_k");
    // A device tells blocks apart however many pieces that makes.
    const device = new Uint8Array(mixed.view.nodeCount).fill(1);
    for (let n = 0; n < device.length; n++) if (opName(mixed.view, n) === "attention" && n % 2 === 0) device[n] = 2;
    const split = foldGraph(mixed, {
      open: new Set(),
      classes: classify(mixed, device),
      rough: classifyRoughly(mixed, device),
    });
    const heads = split.flatMap((item) => (item.kind === "stack" ? [item.groups] : []));
    for (const groups of heads) expect(new Set(groups.map((g) => classifyRoughly(mixed, device)[g])).size).toBe(1);
  });

  it("opens everything", () => {
    const count = (items: readonly Shown[]): number =>
      items.reduce((n, item) => n + (item.kind === "frame" ? count(item.items) : 1), 0);
    const hidden = model.hidden.reduce((a, b) => a + b, 0);
    expect(count(foldGraph(model, { open: allGroups(model), classes }))).toBe(view.nodeCount - hidden);
  });
});
