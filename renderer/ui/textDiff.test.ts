import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffWords } from "./textDiff.ts";

const side = (parts: ReturnType<typeof diffWords>, kind: "left" | "right"): string =>
  parts
    .filter((part) => part.kind === "same" || part.kind === kind)
    .map(({ text }) => text)
    .join("");

describe("the difference of two answers", () => {
  it("marks the words that differ and keeps the rest together", () => {
    expect(diffWords("A small rabbit ran home.", "A small frog ran home.")).toEqual([
      { kind: "same", text: "A small " },
      { kind: "left", text: "rabbit" },
      { kind: "right", text: "frog" },
      { kind: "same", text: " ran home." },
    ]);
  });

  it("marks a phrase as one, with the spaces inside", () => {
    expect(diffWords("It is a red fox now", "It is a big bear now")).toEqual([
      { kind: "same", text: "It is a " },
      { kind: "left", text: "red fox" },
      { kind: "right", text: "big bear" },
      { kind: "same", text: " now" },
    ]);
  });

  it("of equal texts is one part, of nothing none", () => {
    expect(diffWords("the same", "the same")).toEqual([{ kind: "same", text: "the same" }]);
    expect(diffWords("", "")).toEqual([]);
    expect(diffWords("", "new")).toEqual([{ kind: "right", text: "new" }]);
  });

  it("gives both texts back, whatever they are", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c ", " ", "\n", ".", "é")).map((list) => list.join(""));
    fc.assert(
      fc.property(text, text, (left, right) => {
        const parts = diffWords(left, right);
        expect(side(parts, "left")).toBe(left);
        expect(side(parts, "right")).toBe(right);
      }),
    );
  });

  it("does not stop the window for long texts", () => {
    const many = (word: string): string => Array.from({ length: 8000 }, (_, i) => `${word}${i}`).join(" ");
    // Beyond the table's limit the middle is not compared: also what is equal in it belongs to the two parts.
    const [left, right] = [`${many("a")} same ${many("c")}`, `${many("b")} same ${many("d")}`];
    expect(diffWords(`From ${left} to.`, `From ${right} to.`)).toEqual([
      { kind: "same", text: "From " },
      { kind: "left", text: left },
      { kind: "right", text: right },
      { kind: "same", text: " to." },
    ]);
  });
});
