import { describe, expect, it } from "vitest";
import { stringEntry, withEntries } from "../formats/gguf/encode.ts";
import { readArchitecture, requireArchitecture } from "../formats/gguf/architecture.ts";
import { missingTensor } from "../formats/gguf/decoderTensors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { makeHeaderOnly } from "../formats/gguf/write.ts";
import type { TensorShape } from "../formats/gguf/write.ts";
import { LLAMA_1B, headerOnlyModel } from "./headerOnly.ts";

const whole = async (): Promise<GgufFile> => headerOnlyModel({ ...LLAMA_1B, layers: 2 });

/** The same file with other tensors. */
async function changed(change: (tensor: TensorShape) => readonly TensorShape[]): Promise<GgufFile> {
  const file = await whole();
  const tensors = file.tensors.map(({ name, type, shape }) => ({ name, type, dims: shape.toReversed() }));
  return makeHeaderOnly("t.gguf", { entries: file.metadata.entries, tensors: tensors.flatMap(change) });
}
const faultOf = (file: GgufFile) => missingTensor(file, requireArchitecture(file));

describe("the tensors of a decoder", () => {
  it("are there", async () => {
    expect(faultOf(await whole())).toBeUndefined();
    expect(faultOf(await changed((tensor) => [tensor]))).toBeUndefined();
  });

  it("are each missed by name", async () => {
    const { tensors } = await whole();
    // The embedding's size is a key's: without it the keys alone are broken. Without rope_freqs nothing is scaled.
    const needed = tensors.map(({ name }) => name).filter((name) => !/^(token_embd|rope_freqs)/.test(name));
    for (const name of needed) {
      const error = faultOf(await changed((tensor) => (tensor.name === name ? [] : [tensor])));
      expect([error?.code, error?.message]).toEqual([
        "INPUT_MISSING_TENSOR",
        `[t.gguf] The file has no tensor "${name}".`,
      ]);
    }
  });

  it("have the shapes that the keys say", async () => {
    for (const name of ["blk.1.attn_k.weight", "blk.0.ffn_norm.weight", "blk.1.ffn_down.weight"]) {
      const error = faultOf(
        await changed((tensor) =>
          tensor.name === name ? [{ ...tensor, dims: tensor.dims.map((size) => 2 * size) }] : [tensor],
        ),
      );
      expect(error?.code).toBe("INPUT_MALFORMED");
      expect(error?.message).toContain(`The tensor "${name}" is [`);
    }
  });
});

describe("what is no model", () => {
  it.each([
    ["adapter", /^It is an adapter \(LoRA\), not a model/],
    ["imatrix", /^It is an importance matrix/],
  ])("%s is called so", async (type, sentence) => {
    const file = await whole();
    const entries = withEntries(file.metadata.entries, { "general.type": stringEntry("general.type", type) });
    const tensors = file.tensors.map(({ name, type: of, shape }) => ({ name, type: of, dims: shape.toReversed() }));
    const reading = readArchitecture(await makeHeaderOnly("t.gguf", { entries, tensors }));
    expect(reading.kind === "unsupported" && reading.sentence).toMatch(sentence);
  });

  it("a file of words has no weights", async () => {
    const reading = readArchitecture(await changed(() => []));
    expect(reading.kind === "unsupported" && reading.sentence).toMatch(/^It holds a vocabulary and no weights/);
  });
});
