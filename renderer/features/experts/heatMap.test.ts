import { describe, expect, it } from "vitest";
import { cellWords, heatMap, mapWords, SHADES } from "./heatMap.ts";

const use = {
  kind: "done",
  tokens: 4,
  layers: [
    { layer: 1, counts: Uint32Array.of(4, 0, 2, 2) },
    { layer: 3, counts: Uint32Array.of(0, 0, 4, 4) },
  ],
} as const;

describe("the heat map of experts", () => {
  it("has a cell for each expert, as warm as its share of the busiest", () => {
    const map = heatMap(use);
    expect(map).toMatchObject({ columns: 4, rows: 2, most: 4 });
    expect(map.paths[SHADES - 1]).toBe("M0 0h1v1h-1zM2 1h1v1h-1zM3 1h1v1h-1z");
    expect(map.paths[0]).toBe("M1 0h1v1h-1zM0 1h1v1h-1zM1 1h1v1h-1z");
    expect(map.paths.join("").match(/M/gu)).toHaveLength(8);
  });

  it("says what a cell is", () => {
    const map = heatMap(use);
    expect(cellWords(use, map, 0.6, 0.1)).toMatch(/^Layer 1, expert 2: 2 of 4 tokens \(50\s?%\)$/u);
    expect(cellWords(use, map, 0.99, 0.99)).toMatch(/^Layer 3, expert 3: 4 of 4 tokens/u);
    expect(cellWords(use, map, 0.5, 1)).toBe("");
    expect(mapWords(use, map)).toBe("4 tokens, 2 experts each. 5 of 8 experts took at least one, the busiest 4.");
  });
});
