/** A LoRA adapter for the sample model: keys of its first block, of rank 4, with random numbers. */
import { writeFile } from "node:fs/promises";
import { memorySink } from "../formats/byteSink.ts";
import { numberEntry, stringEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { TensorToWrite } from "../formats/gguf/write.ts";
import { writeGguf } from "../formats/gguf/write.ts";
import { randomFloats, seededRandom } from "./random.ts";

export async function writeSampleAdapter(path: string, architecture = "qwen3"): Promise<void> {
  const random = seededRandom(7);
  const f32 = ggmlTypeByName("f32");
  if (f32 === undefined) throw new Error("f32 is a type");
  const part = (end: string, dims: readonly [number, number]): TensorToWrite => ({
    name: `blk.0.attn_k.weight.${end}`,
    type: f32,
    dims,
    data: () => [new Uint8Array(randomFloats(random, dims[0] * dims[1]).buffer)],
  });
  const sink = memorySink();
  await writeGguf(sink, {
    entries: [
      stringEntry("general.type", "adapter"),
      stringEntry("general.architecture", architecture),
      stringEntry("adapter.type", "lora"),
      numberEntry("adapter.lora.alpha", "f32", 4),
    ],
    tensors: [part("lora_a", [256, 4]), part("lora_b", [4, 128])],
  });
  await writeFile(path, sink.bytes());
}
