// Blocks of different kinds: their order as one stack, and caches that later blocks read as edges.
import { describe, expect, it } from "vitest";
import { GraphBuilder } from "../testing/graphBuilder.ts";
import { classify, foldGraph, stackNote } from "./fold.ts";
import { createGraphModel } from "./graphModel.ts";
import type { GraphModel } from "./graphModel.ts";
import { lift } from "./lift.ts";

const key = { model: "m", stage: { backend: "cpu", step: "built" }, phase: "decode" } as const;
/** `v` differs from `w` in something that its words do not say. */
const WORDS: Readonly<Record<string, string>> = {
  w: "window of 16",
  v: "window of 16",
  f: "full attention",
  s: "shared",
};

/** A block for each letter; `s` reads what the first block's op gives. */
function blocks(kinds: string): GraphModel {
  const g = new GraphBuilder("model");
  g.openGroup("blocks", "repeat", 0);
  let x = g.node({ op: "input", type: "f32[4]", flags: ["input"] });
  let cache = -1;
  [...kinds].forEach((kind, i) => {
    g.openGroup(`block ${i}`, "block", kind.charCodeAt(0), "", WORDS[kind]);
    const own = g.node({ op: "kv_append", inputs: [x], type: "f32[4]", flags: ["nextState"] });
    if (cache < 0) cache = own;
    x = g.node({ op: "attention", inputs: [x, kind === "s" ? cache : own], type: "f32[4]" });
    g.closeGroup();
  });
  g.closeGroup();
  return createGraphModel(g.finish(key, "model"));
}

const shownOf = (model: GraphModel, open: readonly number[] = []) =>
  foldGraph(model, { open: new Set(open), classes: classify(model, null) });
const stacksOf = (model: GraphModel, open: readonly number[] = []) =>
  shownOf(model, open).flatMap((item) => (item.kind === "stack" ? [item.groups] : []));
const noteOf = (model: GraphModel, groups: readonly number[]): string =>
  stackNote(model, groups[0]!, groups.at(-1)!, classify(model, null), () => "");

describe("blocks of different kinds", () => {
  it("are one stack where their order repeats, which says the order", () => {
    const model = blocks("wwwfwwwfww");
    const [stack, ...others] = stacksOf(model);
    expect(stack).toHaveLength(10);
    expect(others).toEqual([]);
    expect(noteOf(model, stack!)).toBe("2 × (3 × window of 16 + full attention) + 2 × window of 16");
  });

  it("are one stack also where the first block differs in something small, which stands beside it", () => {
    const model = blocks("vwwfwwwfwwwf");
    const shown = shownOf(model).filter(({ kind }) => kind !== "op");
    expect(shown.map(({ kind }) => kind)).toEqual(["group", "stack"]);
    const [stack] = stacksOf(model);
    expect(noteOf(model, stack!)).toBe("2 × window of 16 + full attention + 2 × (3 × window of 16 + full attention)");
  });

  it("are stacks of their own where it does not", () => {
    const model = blocks("wwfff");
    const stacks = stacksOf(model);
    expect(stacks.map(({ length }) => length)).toEqual([2, 3]);
    expect(stacks.map((stack) => noteOf(model, stack))).toEqual(["2 × window of 16", "3 × full attention"]);
    // Where all blocks of a model are alike, their stack says nothing of it.
    const [alike] = stacksOf(blocks("www"));
    expect(noteOf(blocks("www"), alike!)).toBe("");
  });

  it("leave a stack when one of them is opened", () => {
    const model = blocks("wfwfwf");
    const [all] = stacksOf(model);
    const opened = shownOf(model, [all![2]!]);
    expect(opened.map(({ kind }) => kind)).toEqual(["op", "group", "group", "frame", "group", "group", "group"]);
  });
});

describe("a cache that later blocks read", () => {
  it("is an edge of its kind from its block to theirs", () => {
    const model = blocks("fwss");
    const { boxes, pieces } = lift(model, shownOf(model));
    const drawn = (pieces.get(-1) ?? []).filter(({ state }) => state);
    expect(drawn.map(({ from, to }) => [boxes.kind[from], boxes.kind[to]])).toEqual([[1, 2]]);
  });
});
