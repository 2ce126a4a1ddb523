import { describe, expect, it } from "vitest";
import { definitionOf, nameRefusal, sameValue, valueWords, wordAt } from "./names.ts";

const TEXT = `// %x is no value here
graph "a %x" {
  %x = input "x" : f32[3]
  %c = compare(%x, %x) {kind: "less"}
  %y = if(%c, %x) graph "then" {
    %x = input "x" : f32[3]
    %s = sort(%x)
    return "y" = %s.0
  } graph "else" {
    %z = input "x" : f32[3]
    return "y" = %z
  }
  return "y" = %y
}
`;
const words = valueWords(TEXT);
const at = (text: string, nth = 0): number => {
  let offset = -1;
  for (let i = 0; i <= nth; i++) offset = TEXT.indexOf(text, offset + 1);
  return offset;
};

describe("values of a text", () => {
  it("are not read out of comments and strings, and belong to their graph", () => {
    expect(words.map(({ name, graph, isDefinition }) => `${graph}${name}${isDefinition ? "=" : ""}`).join(" ")).toBe(
      "0x= 0c= 0x 0x 0y= 0c 0x 1x= 1s= 1x 1s 2z= 2z 0y",
    );
  });

  it("have one definition, and all their uses in the same graph", () => {
    const inside = wordAt(words, at("%x)\n    return") + 1)!;
    expect(definitionOf(words, inside)?.start).toBe(at("%x = input", 1));
    expect(sameValue(words, inside)).toHaveLength(2);
    const outside = wordAt(words, at("%x, %x"))!;
    expect(definitionOf(words, outside)?.start).toBe(at("%x = input"));
    expect(sameValue(words, outside)).toHaveLength(4);
  });

  it("are found with the number of a result, which is no part of the name", () => {
    const result = wordAt(words, at("%s.0") + 4)!;
    expect(TEXT.slice(result.start, result.end)).toBe("%s");
    expect(TEXT.slice(result.start, result.wholeEnd)).toBe("%s.0");
    expect(definitionOf(words, result)?.start).toBe(at("%s ="));
  });

  it("take a name that is free in their graph", () => {
    const x = wordAt(words, at("%x = input"))!;
    expect(nameRefusal(words, x, "z")).toBeUndefined();
    expect(nameRefusal(words, x, "x")).toBeUndefined();
    expect(nameRefusal(words, x, "y")).toBe("%y is there already.");
    expect(nameRefusal(words, x, "a b")).toBe("A name has letters, digits and _.");
  });
});
