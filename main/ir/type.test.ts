import { describe, expect, it } from "vitest";
import type { AnyAttrSchema } from "./attributes.ts";
import { attr, checkAttrs } from "./attributes.ts";
import type { TensorType } from "./type.ts";
import { broadcastShapes, byteLength, formatType, normalizeAxis, parseType, sameType, tensor } from "./type.ts";

describe("the text of a type", () => {
  it("reads back", () => {
    for (const text of ["f32[]", "q4_k[4096,14336]", "i32[T]", "f16[8,capacity,64]", "f32[2*T+past,3]"])
      expect(formatType(parseType(text))).toBe(text);
    expect(parseType(" f32 [ T , 2 ] ")).toEqual(tensor("f32", ["T", 2]));
    expect(formatType(parseType("f32[past+T]"))).toBe("f32[T+past]");
  });
  it("is refused when it is none", () => {
    for (const bad of ["", "f32", "f33[2]", "f32[2", "f32[2]]", "f32[-1]", "f32[2,]", "x".repeat(5000)])
      expect(() => parseType(bad), bad).toThrow(expect.objectContaining({ code: expect.stringMatching(/^IR_/) }));
  });
  it("is one spelling as an attribute, and binds", () => {
    const schema = { outputs: attr.types() } as unknown as AnyAttrSchema;
    expect(checkAttrs("op", schema, { outputs: ["f32[past+T]"] })).toEqual({ outputs: ["f32[T+past]"] });
    expect(attr.types().bind?.(["f32[T,2]"], { T: 4 })).toEqual(["f32[4,2]"]);
  });
});

const refused = (action: () => unknown, says: RegExp): void =>
  expect(action).toThrow(
    expect.objectContaining({ code: "IR_SHAPE", message: expect.stringMatching(says) as string }) as Error,
  );

describe("the bytes of a type", () => {
  // Block sizes as ggml has them: 256 weights in 144 bytes, 32 in 34.
  it.each([
    ["f32[]", 4],
    ["f16[3,5]", 30],
    ["bool[7]", 7],
    ["q4_k[2,256]", 288],
    ["q8_0[3,64]", 204],
    ["f32[0,9]", 0],
    ["f32[T,4]", "16*T"],
    ["q8_0[T,32]", "34*T"],
  ])("%s: %s", (text, bytes) => expect(byteLength(parseType(text))).toBe(bytes));

  it.each(["q4_k[2,128]", "q4_k[255]", "q8_0[33,3]"])(
    "%s is refused: a row is not a whole number of blocks",
    (text) => {
      refused(() => byteLength(parseType(text)), /rows that are not a whole number of (256|32)-element blocks/);
    },
  );
});

describe("axes and shapes", () => {
  it("an axis counts from either end and stays inside", () => {
    expect([0, 2, -1, -3].map((axis) => normalizeAxis(axis, 3, "op"))).toEqual([0, 2, 2, 0]);
    for (const axis of [3, -4, 0.5, NaN, Infinity])
      refused(() => normalizeAxis(axis, 3, "op"), new RegExp(`^\\[op\\] axis .*got ${axis}, expected -3\\.\\.2$`));
    refused(() => normalizeAxis(0, 0, "op"), /expected -0\.\.-1/);
  });

  it("shapes broadcast from the right, symbols only with themselves and one", () => {
    const both = (a: string, b: string): string => {
      const shapeOf = (text: string): TensorType["shape"] => parseType(`f32[${text}]`).shape;
      return broadcastShapes(shapeOf(a), shapeOf(b), "op").join();
    };
    expect([both("2,3", "3"), both("1,4", "5,1"), both("T,1", "T,2"), both("", "7"), both("1", "T")]).toEqual([
      "2,3",
      "5,4",
      "T,2",
      "7",
      "T",
    ]);
    for (const [a, b] of [
      ["2", "3"],
      ["T", "2"],
      ["T", "past"],
    ] as const)
      refused(() => both(a, b), /^\[op\] shapes do not broadcast/);
  });

  it("types are the same in element type, rank and every size", () => {
    const type = parseType("f32[2,T]");
    expect(sameType(type, parseType("f32[2,T]"))).toBe(true);
    for (const other of ["f16[2,T]", "f32[2]", "f32[2,T,1]", "f32[2,3]", "f32[3,T]"])
      expect(sameType(type, parseType(other)), other).toBe(false);
  });
});
