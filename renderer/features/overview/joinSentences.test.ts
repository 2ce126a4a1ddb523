import { describe, expect, it } from "vitest";
import { joinSentences } from "./joinSentences.ts";

describe("sentences that begin alike", () => {
  it("are one with several ends", () => {
    expect(
      joinSentences([
        "This model is a header without weights: there is nothing to run.",
        "This model is a header without weights: there is nothing to export.",
      ]),
    ).toBe("This model is a header without weights: there is nothing to run or export.");
    expect(
      joinSentences(["There is nothing here to a.", "There is nothing here to b.", "There is nothing here to c."]),
    ).toBe("There is nothing here to a, b or c.");
  });

  it("stay apart when they only seem to, and once when they are the same", () => {
    expect(joinSentences(["It cannot run.", "It has no graph."])).toBe("It cannot run. It has no graph.");
    expect(joinSentences(["The same.", "The same."])).toBe("The same.");
    expect(
      joinSentences([
        "A long beginning that is shared. Then one. More.",
        "A long beginning that is shared. Then two. More.",
      ]),
    ).toBe("A long beginning that is shared. Then one. More. A long beginning that is shared. Then two. More.");
    expect(joinSentences([])).toBe("");
  });
});
