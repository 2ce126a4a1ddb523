// What a file says of its experts and heads, where it says too much: a number that becomes parts of the graph is held to the file.
import { describe, expect, it } from "vitest";
import { numberEntry, stringEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import type { Architecture, Family } from "./family.ts";
import { bert } from "./families/bert.ts";
import { glm4moe } from "./families/glm4moe.ts";
import { llama } from "./families/llama.ts";

const KEYS = {
  block_count: 2,
  context_length: 64,
  embedding_length: 32,
  feed_forward_length: 48,
  "attention.head_count": 4,
  "attention.layer_norm_epsilon": 1e-5,
  "attention.layer_norm_rms_epsilon": 1e-5,
};
const f32 = ggmlTypeByName("f32")!;

async function read(
  [family, name]: readonly [Family, string],
  changes: Readonly<Record<string, number>>,
  tensors: readonly string[] = [],
): Promise<Architecture> {
  const file = await makeHeaderOnly("made.gguf", {
    entries: [
      stringEntry("general.architecture", name),
      ...Object.entries({ ...KEYS, ...changes }).map(([key, value]) =>
        numberEntry(`${name}.${key}`, key.endsWith("epsilon") ? "f32" : "u32", value),
      ),
    ],
    tensors: [
      { name: "token_embd.weight", type: f32, dims: [32, 20] },
      ...tensors.map((tensor) => ({ name: tensor, type: f32, dims: [32, 48] })),
    ],
  });
  return family.read(file, name);
}

describe("a file is refused", () => {
  it("with a kind of routing that is not known", async () => {
    const keys = { expert_count: 2, expert_used_count: 2, expert_gating_func: 5 };
    await expect(read([glm4moe, "glm4moe"], keys)).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
      message: expect.stringContaining("expert_gating_func: got 5, expected 0 to 4") as string,
    });
  });

  it("with more experts than it has tensors for", async () => {
    const keys = { expert_count: 1e9, expert_used_count: 2 };
    await expect(read([llama, "llama"], keys, ["blk.0.ffn_gate.0.weight"])).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
      message: expect.stringContaining("three tensors for each expert of 2 layers") as string,
    });
  });

  it("with more heads than any model has", async () => {
    const keys = { "attention.head_count": 1e9, "attention.key_length": 2 };
    await expect(read([bert, "jina-bert-v2"], keys)).rejects.toMatchObject({
      code: "INPUT_MALFORMED",
      message: expect.stringContaining("head_count: got 1000000000, expected at most 65536") as string,
    });
  });
});
