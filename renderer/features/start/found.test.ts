/** What the first screen says of a search that found nothing. */
import { describe, expect, it } from "vitest";
import { sentenceOf } from "./Found.tsx";

describe("a search without a model", () => {
  it("says whether other programs' places were looked in", () => {
    const list = { models: [], places: [], complete: true };
    expect(sentenceOf({ ...list, usual: true }, 0)).toMatch(/^No models of LM Studio/u);
    expect(sentenceOf({ ...list, usual: false }, 0)).toMatch(/is switched off\. Folders of yours can be added\.$/u);
    expect(sentenceOf({ ...list, usual: true, complete: false }, 0)).toMatch(/^Looking where/u);
  });
});
