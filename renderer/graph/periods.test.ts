import { describe, expect, it } from "vitest";
import { patternWords, periodOf, repeatingPart } from "./periods.ts";

const repeat = (pattern: string, length: number): string[] =>
  Array.from({ length }, (_, i) => pattern[i % pattern.length]!);

describe("blocks that come again", () => {
  it("have the shortest period, also where the last one breaks off", () => {
    expect(periodOf([..."wwwf".repeat(3)])).toBe(4);
    expect(periodOf(repeat("wwwf", 10))).toBe(4);
    expect(periodOf([..."ww"])).toBe(1);
    expect(periodOf([..."wwwfww"])).toBeUndefined();
    expect(periodOf([..."wwfwww"])).toBeUndefined();
    expect(periodOf([])).toBeUndefined();
  });

  it("may have other blocks at their ends", () => {
    expect(repeatingPart(repeat("wwwf", 10))).toEqual({ start: 0, end: 10 });
    expect(repeatingPart([..."xwwfwwwfwwwf"])).toEqual({ start: 1, end: 12 });
    expect(repeatingPart([..."xwfwfwfyz"])).toEqual({ start: 1, end: 7 });
    expect(repeatingPart([..."wwwFwwwfwwwf"])).toEqual({ start: 4, end: 12 });
    expect(repeatingPart([..."abcdd"])).toBeUndefined();
    expect(repeatingPart([..."abcdefgh"])).toBeUndefined();
    expect(repeatingPart([..."x"])).toBeUndefined();
  });

  it("are said as a period, what is left over, or runs", () => {
    expect(patternWords(repeat("wwwf", 8))).toBe("2 × (3 × w + f)");
    expect(patternWords(repeat("wwwf", 10))).toBe("2 × (3 × w + f) + 2 × w");
    expect(patternWords(repeat("wf", 24))).toBe("12 × (w + f)");
    expect(patternWords([..."wwfwwwfwwwf"])).toBe("2 × w + f + 2 × (3 × w + f)");
    expect(patternWords([..."ddmmmm"])).toBe("2 × d + 4 × m");
    expect(patternWords([..."dmdmmdmmmd"])).toBe("4 × d + 6 × m, mixed");
    expect(patternWords([..."wwww"])).toBe("");
  });
});
