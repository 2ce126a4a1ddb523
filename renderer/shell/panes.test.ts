import { describe, expect, it } from "vitest";
import { defaultSize, LEAST_VIEW, LIMITS, PANES, storedSize } from "./panes.ts";

describe("the panes", () => {
  it("leave the view its room in the smallest window", () => {
    const used = defaultSize("navigator", 1000) + defaultSize("inspector", 1000);
    expect(1000 - used).toBeGreaterThanOrEqual(LEAST_VIEW.width);
    expect(1000 - LIMITS.navigator.least - LIMITS.inspector.least).toBeGreaterThan(LEAST_VIEW.width);
  });

  it("do not grow with a wide screen", () => {
    expect(defaultSize("navigator", 3840)).toBe(defaultSize("navigator", 1440));
    expect(defaultSize("inspector", 3840)).toBe(304);
  });

  it("take what was stored, within the limits, and nothing else", () => {
    expect(storedSize("250", "navigator")).toBe(250);
    expect(storedSize("9000", "navigator")).toBe(LIMITS.navigator.most);
    expect(storedSize("-3", "inspector")).toBe(LIMITS.inspector.least);
    for (const text of [null, "", "wide", "NaN", "{}"]) expect(storedSize(text, "log")).toBeNull();
  });

  it("have defaults within their own limits", () => {
    for (const pane of PANES)
      for (const width of [1000, 1440, 1920]) {
        const size = defaultSize(pane, width);
        expect(size).toBeGreaterThanOrEqual(LIMITS[pane].least);
        expect(size).toBeLessThanOrEqual(LIMITS[pane].most);
      }
  });
});
