// The picture without a window is the window's: the same boxes, words and colours, from the same drawing.
import { describe, expect, it } from "vitest";
import { BUILT } from "../../main/contract/views/graph.ts";
import { sampleGraph, sampleRoute } from "../testing/sample.ts";
import type { GraphSvgInput } from "./graphSvg.ts";
import { graphSvg } from "./graphSvg.ts";
import { textWidth } from "./textWidth.ts";
import { THEMES } from "./themes.ts";

const shown: GraphSvgInput = {
  ...{ view: sampleGraph, route: sampleRoute, overlay: null, expand: false },
  mode: "device",
  theme: "light",
};

const textsOf = (svg: string): readonly string[] => [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, t]) => t!);

describe("a graph as SVG without a browser", () => {
  it("is one picture with a caption, blocks folded into stacks, and devices in their colours", () => {
    const svg = graphSvg(shown);
    expect(svg).toMatch(
      /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="\d+" height="\d+" viewBox="0 0 \d+ \d+">/,
    );
    expect(svg.trimEnd()).toMatch(/<\/svg>$/);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    expect(textsOf(svg).at(-1)).toBe(`${sampleGraph.title} · ${sampleRoute.targetTitle} · by device`);
    expect(textsOf(svg).some((text) => /×\d/.test(text))).toBe(true);
    expect(svg).toContain(THEMES.light.device.ane);
    expect(svg).toContain("url(#cpu)");
  });

  it("opens every group, takes the dark colours, and other quantities", () => {
    const folded = graphSvg(shown);
    const open = graphSvg({ ...shown, expand: true, theme: "dark", mode: "type" });
    expect(textsOf(open).length).toBeGreaterThan(3 * textsOf(folded).length);
    expect(open).toContain(`fill="${THEMES.dark.canvas}"`);
    expect(textsOf(open).at(-1)).toMatch(/ · by weights$/);
    expect(textsOf(graphSvg({ ...shown, mode: "segment" })).some((text) => /^(?:Segment )?\d+/.test(text))).toBe(true);
  });

  it("has no device colour for a stage without a route", () => {
    const key = { ...sampleGraph.key, stage: { ...sampleGraph.key.stage, step: BUILT } };
    const svg = graphSvg({ ...shown, view: { ...sampleGraph, key }, route: null });
    expect(svg).not.toContain(THEMES.light.device.ane);
    expect(svg).not.toContain('"url(#cpu)"');
    expect(textsOf(svg).at(-1)).toBe(`${sampleGraph.title} · by device`);
  });
});

describe("the width of a text", () => {
  it("grows with its letters, size and weight, and is the same for each letter of a mono font", () => {
    expect(textWidth("10px sans-serif", "Hi")).toBeCloseTo(9.44);
    expect(textWidth("600 20px sans-serif", "Hi")).toBeCloseTo(2 * 9.44 * 1.06);
    expect(textWidth("10px monospace", "ii")).toBe(textWidth("10px monospace", "WW"));
    expect(textWidth("10px sans-serif", "模型")).toBe(20);
    expect(textWidth("10px sans-serif", "\u202f")).toBeLessThan(2);
  });
});
