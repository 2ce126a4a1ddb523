import { describe, expect, it } from "vitest";
import type { AnyAttrSchema } from "./attributes.ts";
import { attr, checkAttrs } from "./attributes.ts";
import { formatType, parseType, tensor } from "./type.ts";

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
