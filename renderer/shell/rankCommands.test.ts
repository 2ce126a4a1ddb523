import { describe, expect, it } from "vitest";
import { rankCommands } from "./rankCommands.ts";

const titles = (query: string): string[] => rankCommands(query).map(({ title }) => title);

describe("the palette", () => {
  it("shows everything for nothing, in the registry's order", () => {
    expect(titles("")[0]).toBe("Open…");
  });

  it("prefers the beginning of the title, then of a word, then letters in order", () => {
    expect(titles("gr")[0]).toBe("Graph");
    expect(titles("neural")[0]).toBe("Only the Neural Engine");
    expect(titles("bnch")).toContain("Bench");
  });

  it("knows other words for what is asked for, after the names themselves", () => {
    expect(titles("settings")).toEqual(expect.arrayContaining(["Run", "Bench", "Check this machine"]));
    expect(titles("target")).toContain("Overview");
    expect(titles("chat")[0]).toBe("Run");
  });

  it("needs every word", () => {
    expect(titles("colour time")).toEqual(["Colour by time", "Colour by measured time"]);
    expect(titles("colour zebra")).toEqual([]);
  });
});
