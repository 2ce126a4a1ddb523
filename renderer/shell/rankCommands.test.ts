import { describe, expect, it } from "vitest";
import { rankCommands } from "./rankCommands.ts";

const titles = (query: string): string[] => rankCommands(query).map(({ title }) => title);

describe("the palette", () => {
  it("shows everything for nothing, in the registry's order", () => {
    expect(titles("")[0]).toBe("Open…");
  });

  it("prefers the beginning of the title, then of a word, then letters in order", () => {
    expect(titles("gr")[0]).toBe("Show Graph");
    expect(titles("neural")[0]).toBe("Only the Neural Engine");
    expect(titles("bnch")).toContain("Show Bench");
  });

  it("knows other words for what is asked for, after the names themselves", () => {
    expect(titles("settings")).toEqual(expect.arrayContaining(["Show Run", "Show Bench", "Check this machine"]));
    expect(titles("target")).toContain("Show Overview");
    expect(titles("chat")[0]).toBe("Show Run");
  });

  it("tells a view from the work in it: no two commands share a name, and a name of work starts the work", () => {
    const all = titles("");
    expect(new Set(all).size).toBe(all.length);
    expect(titles("run").slice(0, 2)).toEqual(["Run", "Show Run"]);
    expect(titles("graph")[0]).toBe("Show Graph");
  });

  it("needs every word", () => {
    expect(titles("colour time")).toEqual(["Colour by time", "Colour by measured time"]);
    expect(titles("colour zebra")).toEqual([]);
  });
});
