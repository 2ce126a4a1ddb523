/** `rlx embed` and `rlx rerank` as processes: both forms of their answers, and what they refuse. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { commandFolder } from "../../testing/commandFolder.ts";
import { writeTinyEmbedder } from "../../testing/tinyEmbedder.ts";

const { folder, command } = commandFolder();
beforeAll(async () => {
  await writeTinyEmbedder(join(folder, "embedder.gguf"));
  await writeTinyEmbedder(join(folder, "reranker.gguf"), { ranks: true });
  await writeFile(join(folder, "lines.txt"), "the cat sits\n\na small car\r\n");
});

interface Vectors {
  readonly pooling: string;
  readonly width: number;
  readonly texts: readonly { readonly tokens: number; readonly vectors: readonly (readonly number[])[] }[];
  readonly similarity: readonly (readonly number[])[] | null;
}

describe("rlx embed", () => {
  it("gives vectors of options and of lines, and how alike they are", async () => {
    const { code, out } = await command("embed DIR/embedder.gguf --text the --lines DIR/lines.txt --similarity --json");
    expect(code).toBe(0);
    const { pooling, width, texts, similarity } = JSON.parse(out) as Vectors;
    expect({ pooling, width, tokens: texts.map(({ tokens }) => tokens) }).toEqual({
      pooling: "mean",
      width: 32,
      tokens: [3, 5, 5],
    });
    for (const { vectors } of texts) expect(vectors.map((row) => row.length)).toEqual([32]);
    expect(similarity?.map((row, i) => Number(row[i]?.toFixed(5)))).toEqual([1, 1, 1]);
    const plain = await command("embed DIR/embedder.gguf --text the --pooling none");
    expect(plain).toMatchObject({ code: 0 });
    expect(plain.out).toContain("32 numbers each, pooling none, of length 1");
  });

  it("refuses a pooling that there is not, and a model that writes", async () => {
    expect((await command("embed DIR/embedder.gguf --text the --pooling most")).err).toContain(
      "expected none, mean, cls, last or rank",
    );
    expect((await command("embed FILE --text the")).err).toContain("UNSUPPORTED_MODEL_KIND");
    const chat = await command("chat DIR/embedder.gguf -m hi");
    expect(chat.code).toBe(1);
    expect(chat.err).toMatch(/UNSUPPORTED_MODEL_KIND[\s\S]*rlx embed/u);
  });
});

describe("rlx rerank", () => {
  it("sorts documents, the best first", async () => {
    const { code, out } = await command('rerank DIR/reranker.gguf -q "what is a panda?" --lines DIR/lines.txt --json');
    expect(code).toBe(0);
    const { by, results } = JSON.parse(out) as {
      readonly by: string;
      readonly results: readonly { readonly document: number; readonly text: string; readonly score: number }[];
    };
    expect(by).toBe("score");
    expect(results.map(({ text }) => text).toSorted()).toEqual(["a small car", "the cat sits"]);
    expect(results[0]!.score).toBeGreaterThanOrEqual(results[1]!.score);
    expect(await command("rerank DIR/reranker.gguf -d the")).toMatchObject({ code: 2, out: "" });
  });
});
