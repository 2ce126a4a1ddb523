import { describe, expect, it } from "vitest";
import { typedNumber } from "./fields.tsx";

const tokens = { min: 1, max: 1024, whole: true };

describe("a typed number", () => {
  it("counts as soon as it is in range", () => {
    expect(typedNumber("512", { ...tokens, done: false })).toEqual({ value: 512, limit: "" });
    expect(typedNumber("0.7", { min: 0, max: 5, done: false })).toEqual({ value: 0.7, limit: "" });
  });

  it("above the most is the most, and says so: it is not silently ignored", () => {
    expect(typedNumber("4000", { ...tokens, done: false })).toEqual({ value: 1024, limit: "at most" });
  });

  it("below the least waits for more digits, and is the least when the field is left", () => {
    const range = { min: 16, max: 1024, whole: true };
    expect(typedNumber("5", { ...range, done: false })).toEqual({ value: null, limit: "at least" });
    expect(typedNumber("5", { ...range, done: true })).toEqual({ value: 16, limit: "at least" });
  });

  it("that is none changes nothing; a half token becomes a whole one on leaving", () => {
    for (const text of ["", " ", "-", "abc", "Infinity"])
      expect(typedNumber(text, { ...tokens, done: true }).value).toBeNull();
    expect(typedNumber("3.6", { ...tokens, done: false }).value).toBeNull();
    expect(typedNumber("3.6", { ...tokens, done: true }).value).toBe(4);
  });
});
