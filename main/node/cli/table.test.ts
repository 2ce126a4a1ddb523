import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTable } from "./table.ts";

const HEADER = ["", "pass", "why"];
const ROWS = [
  ["1", "dead code", "What nothing needs is left out."],
  ["12", "simplify", "Movements that cancel are gone."],
];
const lengths = (text: string): number[] => text.split("\n").map((line) => line.length);

describe("a table", () => {
  it("puts numbers to the right and is as wide as its cells without a width", () => {
    expect(formatTable(HEADER, ROWS, { right: [0] })).toEqual({
      text: [
        "    pass       why",
        "──  ─────────  ───────────────────────────────",
        " 1  dead code  What nothing needs is left out.",
        "12  simplify   Movements that cancel are gone.",
      ].join("\n"),
      isCut: false,
    });
  });

  it("has as many rows as there are, also more than a call may have arguments", () => {
    const rows = Array.from({ length: 150_000 }, (_, i) => [String(i), "x"]);
    const lines = formatTable(["id", "piece"], rows, { right: [0] }).text.split("\n");
    expect([lines.length, lines[2], lines.at(-1)]).toEqual([150_002, "     0  x", "149999  x"]);
  });

  it("leaves out columns that nothing stands in", () => {
    const rows = [
      ["CPU", "", "17", ""],
      ["HOST", "", "3", ""],
    ];
    expect(formatTable(["device", "time", "ops", "note"], rows, { right: [1, 2], yields: 3 }).text).toBe(
      ["device  ops", "──────  ───", "CPU      17", "HOST      3"].join("\n"),
    );
    expect(formatTable(["key", "value"], []).text).toBe("key  value\n───  ─────");
  });

  it("cuts the column that gives way, and says so", () => {
    expect(formatTable(HEADER, ROWS, { right: [0], yields: 2 }, 30)).toEqual({
      text: [
        "    pass       why",
        "──  ─────────  ───────────────",
        " 1  dead code  What nothing n…",
        "12  simplify   Movements that…",
      ].join("\n"),
      isCut: true,
    });
  });

  it("wraps it at words where nothing may be lost", () => {
    expect(
      formatTable(
        ["n", "why"],
        [
          ["12", ROWS[0]![2]!],
          ["3", "Short."],
        ],
        { yields: 1, by: "wrap" },
        34,
      ),
    ).toEqual({
      text: [
        "n   why",
        "──  ──────────────────────────────",
        "12  What nothing needs is left",
        "    out.",
        "3   Short.",
      ].join("\n"),
      isCut: false,
    });
  });

  it("puts it below its row where it would become a tower", () => {
    expect(formatTable(HEADER, ROWS, { right: [0], yields: 2, by: "wrap" }, 30)).toEqual({
      text: [
        "    pass",
        "──  ─────────",
        " 1  dead code",
        "      What nothing needs is",
        "      left out.",
        "12  simplify",
        "      Movements that cancel",
        "      are gone.",
      ].join("\n"),
      isCut: false,
    });
  });

  it("is not cut where it just fits", () => {
    const { text } = formatTable(HEADER, ROWS, { yields: 2 });
    const width = Math.max(...lengths(text));
    expect(formatTable(HEADER, ROWS, { yields: 2 }, width)).toEqual({ text, isCut: false });
    expect(formatTable(HEADER, ROWS, { yields: 2 }, width - 1).isCut).toBe(true);
  });

  it("leaves a column something to say on the narrowest terminal", () => {
    expect(formatTable(HEADER, ROWS, { yields: 2 }, 1).text).toContain("What nothin…");
  });

  it("never exceeds a width that leaves room for the column, and loses no word when it wraps", () => {
    const cell = fc.stringMatching(/^[a-z]{1,6}( [a-z]{1,20}){0,8}$/);
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), fc.integer({ min: 20, max: 60 }), (cells, width) => {
        const rows = cells.map((text) => ["123", text]);
        const cut = formatTable(["n", "text"], rows, { yields: 1 }, width);
        expect(Math.max(...lengths(cut.text))).toBeLessThanOrEqual(width);
        expect(cut.text.split("\n")).toHaveLength(rows.length + 2);
        expect(cut.isCut).toBe(cells.some((text) => text.length > width - 5));
        const whole = formatTable(["n", "text"], rows, { yields: 1, by: "wrap" }, width);
        expect(Math.max(...lengths(whole.text))).toBeLessThanOrEqual(Math.max(width, 30));
        const letters = (text: string): string => text.replaceAll(/[^a-z]/g, "");
        expect(letters(whole.text.split("\n").slice(2).join(""))).toBe(letters(cells.join("")));
      }),
    );
  });
});
