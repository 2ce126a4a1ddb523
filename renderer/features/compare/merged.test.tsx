// Both graphs in one drawing: marked by sign and colour, listed in order, and walked by keys.
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { CHANGE_KINDS } from "../../../main/contract/views/compare.ts";
import { graphSvg } from "../../drawing/graphSvg.ts";
import { listedChanges, mergedChanges } from "../../drawing/mergedChanges.ts";
import { THEMES } from "../../drawing/themes.ts";
import { createGraphModel, opName } from "../../graph/graphModel.ts";
import { sampleGraph } from "../../testing/sample.ts";
import { changeAfter, ChangeList } from "./MergedCard.tsx";

const model = createGraphModel(sampleGraph);
/** Every product changed, one op added and one removed. */
const kind = Uint8Array.from(sampleGraph.nodes.op, (_, node) =>
  opName(sampleGraph, node) === "linear" ? CHANGE_KINDS.indexOf("changed") : 0,
);
const visible = [...kind.keys()].filter((node) => model.hidden[node] === 0 && kind[node] === 0);
const [added, removed] = [visible[3]!, visible.at(-4)!];
kind[added] = CHANGE_KINDS.indexOf("added");
kind[removed] = CHANGE_KINDS.indexOf("removed");
const changes = mergedChanges(model, { kind });
const list = listedChanges(model, changes);

describe("the merged drawing", () => {
  it("counts and lists what differs, equal changes of several blocks once", () => {
    const linear = [...sampleGraph.nodes.op.keys()].filter((node) => opName(sampleGraph, node) === "linear");
    expect(changes.counts).toEqual({ added: 1, removed: 1, changed: linear.length });
    expect(list.reduce((sum, { count }) => sum + count, 0)).toBe(linear.length + 2);
    expect(list.some(({ kind: of, count }) => of === "changed" && count === 4)).toBe(true);
    expect(list.length).toBeLessThan(linear.length);
    expect(list.find(({ kind: of }) => of === "added")).toMatchObject({ node: added, count: 1 });
  });

  it("marks each change by its sign and its colour", () => {
    const svg = graphSvg({
      ...{ view: sampleGraph, route: null, overlay: null, mode: "type", theme: "light", expand: true },
      changes,
    });
    for (const [name, sign] of [
      ["added", "\\+"],
      ["removed", "−"],
      ["changed", "~"],
    ] as const) {
      const color = THEMES.light.change[name];
      expect(svg).toMatch(new RegExp(`<text[^>]*fill="${color}"[^>]*>${sign}</text>`));
      expect(svg).toContain(`stroke="${color}"`);
    }
  });

  it("is walked by the arrow keys, and left for the whole by Escape", () => {
    expect([changeAfter("ArrowDown", -1, 3), changeAfter("ArrowDown", 2, 3), changeAfter("ArrowUp", 0, 3)]).toEqual([
      0, 2, 0,
    ]);
    expect([changeAfter("Home", 2, 3), changeAfter("End", 0, 3), changeAfter("Escape", 1, 3)]).toEqual([0, 2, -1]);
    expect([changeAfter("Escape", -1, 3), changeAfter("a", 1, 3)]).toEqual([null, null]);
  });

  it("has a list that says signs in words, and which entry is chosen", () => {
    const html = renderToStaticMarkup(<ChangeList list={list} at={1} onAt={() => undefined} />);
    expect(html).toContain('role="listbox"');
    expect(html).toContain('aria-activedescendant="merged-1"');
    expect(html.match(/aria-selected="true"/g)).toHaveLength(1);
    for (const word of ["added", "removed", "changed"])
      expect(html).toContain(`<span class="visually-hidden"> ${word}</span>`);
  });
});
