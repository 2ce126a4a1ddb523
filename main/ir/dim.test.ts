import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Dim } from "./dim.ts";
import { addDims, bindDim, canonicalDim, dimSymbols, divDims, mulDims, subDims } from "./dim.ts";

const SYMBOLS = ["B", "T", "past"] as const;
const dims: fc.Arbitrary<Dim> = fc.letrec<{ dim: Dim }>((tie) => ({
  dim: fc.oneof(
    { depthSize: "small" },
    fc.integer({ min: 0, max: 9 }),
    fc.constantFrom(...SYMBOLS),
    fc.tuple(tie("dim"), tie("dim")).map(([a, b]) => addDims(a, b)),
    fc.tuple(tie("dim"), tie("dim")).map(([a, b]) => mulDims(a, b)),
  ),
})).dim;
const bindings = fc.record({
  B: fc.integer({ min: 0, max: 5 }),
  T: fc.integer({ min: 0, max: 5 }),
  past: fc.integer({ min: 0, max: 5 }),
});

describe("dims", () => {
  it("spells one value one way", () => {
    expect(addDims("T", "past")).toBe(addDims("past", "T"));
    expect(mulDims("T", addDims("past", 1))).toBe("T*past+T");
    expect(canonicalDim("2*T + T")).toBe("3*T");
    expect(subDims("T", "T")).toBe(0);
    expect(subDims("past", "T")).toBe("-T+past");
    expect(canonicalDim("T-1")).toBe("T-1");
  });

  it("computes as numbers do", () => {
    fc.assert(
      fc.property(dims, dims, bindings, (a, b, values) => {
        const [x, y] = [Number(bindDim(a, values)), Number(bindDim(b, values))];
        expect(bindDim(addDims(a, b), values)).toBe(x + y);
        expect(bindDim(mulDims(a, b), values)).toBe(x * y);
      }),
    );
  });

  it("reads back what it prints", () => {
    fc.assert(
      fc.property(dims, (dim) => {
        expect(canonicalDim(dim)).toBe(dim);
      }),
    );
  });

  it("divides exactly or not at all", () => {
    fc.assert(
      fc.property(dims, fc.constantFrom<Dim>(2, 3, "T", "2*T"), (dim, by) => {
        expect(divDims(mulDims(dim, by), by)).toBe(dim);
      }),
    );
    expect(divDims("T", 2)).toBeUndefined();
    expect(divDims("T+1", "T")).toBeUndefined();
  });

  it("rejects what is not a polynomial", () => {
    for (const bad of ["T/2", "1.5*T", "", "a b c**", "T+", "x".repeat(300)])
      expect(() => canonicalDim(bad), bad).toThrow(expect.objectContaining({ code: "IR_SHAPE" }));
    for (const bad of [-1, 1.5, Number.NaN, 2 ** 60])
      expect(() => canonicalDim(bad)).toThrow(expect.objectContaining({ code: "IR_SHAPE" }));
  });

  it("binds what it knows and keeps the rest", () => {
    expect(bindDim("T*past+T", { T: 4 })).toBe("4*past+4");
    expect(dimSymbols("T*past+3")).toEqual(["T", "past"]);
  });
});
