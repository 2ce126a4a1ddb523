// The words of blocks, by the graphs of real families.
import { describe, expect, it } from "vitest";
import type { Family } from "../../models/family.ts";
import { falconH1 } from "../../models/families/falconH1.ts";
import { gemma4 } from "../../models/families/gemma4.ts";
import { gptOss } from "../../models/families/gptOss.ts";
import { granitehybrid } from "../../models/families/granitehybrid.ts";
import { lfm2 } from "../../models/families/lfm2.ts";
import { qwen35 } from "../../models/families/qwen35.ts";
import { rwkv7 } from "../../models/families/rwkv7.ts";
import { finish } from "../../ir/steps.ts";
import { sampleHeader } from "../../testing/toyFiles.ts";
import { template } from "../../models/template.ts";
import { groupTree } from "./groups.ts";
import { groupWords } from "./groupWords.ts";

async function wordsOf(family: Family, title: string): Promise<readonly string[]> {
  const sample = family.samples.find((each) => each.title === title);
  if (sample === undefined) throw new Error(`no sample ${title}`);
  const graph = finish(template(await sampleHeader(family, sample), { cacheType: "f16" }));
  const tree = finish(groupTree(graph));
  const words = groupWords(graph, tree);
  return tree.groups.flatMap(({ kind, name }, i) =>
    kind === "block" || name === "experts" ? [`${name}: ${words[i] ?? ""}`] : [],
  );
}

describe("a block says what tells it from others", () => {
  it("windows and experts", async () => {
    expect(await wordsOf(gptOss, "small")).toEqual([
      "blk.0: window of 16, 3 of 6 experts",
      "experts: 3 of 6",
      "blk.1: full attention, 3 of 6 experts",
      "experts: 3 of 6",
    ]);
  });

  it("recurrences, by what they keep, also beside attention", async () => {
    expect(await wordsOf(qwen35, qwen35.samples[0]?.title ?? "")).toEqual([
      "blk.0: delta net",
      "blk.1: full attention",
      "blk.2: delta net",
      "blk.3: full attention",
    ]);
    expect(await wordsOf(granitehybrid, "small")).toEqual(["blk.0: state space", "blk.1: full attention"]);
    expect((await wordsOf(falconH1, "small"))[0]).toBe("blk.0: full attention, state space");
    expect((await wordsOf(rwkv7, rwkv7.samples[0]?.title ?? ""))[0]).toBe("blk.0: recurrence");
    const shortConvolutions = await wordsOf(lfm2, lfm2.samples[0]?.title ?? "");
    expect(shortConvolutions.some((words) => words.endsWith(": short convolution"))).toBe(true);
  });

  it("caches of earlier layers", async () => {
    expect(await wordsOf(gemma4, "shared caches, wider late layers, embeddings of layers")).toEqual([
      "blk.0: window of 16",
      "blk.1: window of 16",
      "blk.2: full attention",
      "blk.3: window of 16",
      "blk.4: full attention",
      "blk.5: window of 16 over an earlier layer's caches",
      "blk.6: full attention over an earlier layer's caches",
    ]);
  });
});
