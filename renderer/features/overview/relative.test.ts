import { describe, expect, it } from "vitest";
import { relativeText } from "./relative.ts";

describe("costs that only compare", () => {
  it("are multiples of the least", () => {
    expect(relativeText(2, 2)).toBe("1.0\u202f×");
    expect(relativeText(6.13, 2)).toBe("3.1\u202f×");
    expect(relativeText(1.25, 0.05)).toBe("25\u202f×");
  });

  it("are not known where nothing costs anything", () => {
    expect(relativeText(0, 0)).toBe("–");
  });
});
