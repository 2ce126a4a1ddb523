/**
 * Models of real shapes with random weights in every type: the keys stand here, the tensors come from the families. A type's
 * blocks are packed once, from normal values, and repeated, so that a file is made as fast as it is written. There is no
 * vocabulary: nothing here tokenizes.
 */
import { numberEntry, stringEntry, withEntries } from "../../main/formats/gguf/encode.ts";
import { ggmlTypeByName, packedBytes } from "../../main/formats/gguf/types.ts";
import type { GgmlType } from "../../main/formats/gguf/types.ts";
import type { TensorToWrite } from "../../main/formats/gguf/write.ts";
import { writeGguf } from "../../main/formats/gguf/write.ts";
import { FAMILIES } from "../../main/models/families/index.ts";
import type { Family, FamilySample } from "../../main/models/family.ts";
import { openFileSink } from "../../main/node/files/fileByteSource.ts";
import type { CpuEngine } from "../../main/backends/cpu/engine.ts";
import { planQuantize } from "../../main/quantize/plan.ts";
import { recipeOf } from "../../main/quantize/recipes.ts";
import { randomFloats, seededRandom } from "../../main/testing/random.ts";
import { plainValues, sampleEntries, sampleHeader } from "../../main/testing/toyFiles.ts";

interface Shape extends Omit<FamilySample, "title" | "marks"> {
  readonly vocabulary: number;
}

export const SHAPES = {
  "qwen3-0.6b": {
    architecture: "qwen3",
    vocabulary: 151_936,
    keys: {
      block_count: 28,
      context_length: 40_960,
      embedding_length: 1024,
      feed_forward_length: 3072,
      "attention.head_count": 16,
      "attention.head_count_kv": 8,
      "attention.key_length": 128,
      "attention.value_length": 128,
      "attention.layer_norm_rms_epsilon": 1e-6,
      "rope.freq_base": 1_000_000,
    },
  },
  "llama-3.2-1b": {
    architecture: "llama",
    vocabulary: 128_256,
    keys: {
      block_count: 16,
      context_length: 131_072,
      embedding_length: 2048,
      feed_forward_length: 8192,
      "attention.head_count": 32,
      "attention.head_count_kv": 8,
      "attention.layer_norm_rms_epsilon": 1e-5,
      "rope.dimension_count": 64,
      "rope.freq_base": 500_000,
    },
  },
  // Blocks of Qwen3-30B-A3B with 16 experts instead of 128, and fewer of them.
  "qwen3moe-2-of-16": {
    architecture: "qwen3moe",
    vocabulary: 151_936,
    keys: {
      block_count: 12,
      context_length: 40_960,
      embedding_length: 2048,
      feed_forward_length: 6144,
      "attention.head_count": 32,
      "attention.head_count_kv": 4,
      "attention.key_length": 128,
      "attention.value_length": 128,
      "attention.layer_norm_rms_epsilon": 1e-6,
      "rope.freq_base": 1_000_000,
      expert_count: 16,
      expert_used_count: 2,
      expert_feed_forward_length: 768,
    },
  },
  "gemma3-1b": {
    architecture: "gemma3",
    vocabulary: 262_144,
    keys: {
      block_count: 26,
      context_length: 32_768,
      embedding_length: 1152,
      feed_forward_length: 6912,
      "attention.head_count": 4,
      "attention.head_count_kv": 1,
      "attention.key_length": 256,
      "attention.value_length": 256,
      "attention.layer_norm_rms_epsilon": 1e-6,
      "attention.sliding_window": 512,
      "rope.freq_base": 1_000_000,
    },
  },
  "qwen35-0.8b": {
    architecture: "qwen35",
    vocabulary: 248_320,
    keys: {
      block_count: 24,
      context_length: 262_144,
      embedding_length: 1024,
      feed_forward_length: 3584,
      "attention.head_count": 8,
      "attention.head_count_kv": 2,
      "attention.key_length": 256,
      "attention.value_length": 256,
      "attention.layer_norm_rms_epsilon": 1e-6,
      "rope.freq_base": 10_000_000,
      "rope.dimension_count": 64,
      "rope.dimension_sections": [11, 11, 10, 0],
      full_attention_interval: 4,
      "ssm.conv_kernel": 4,
      "ssm.state_size": 128,
      "ssm.group_count": 16,
      "ssm.time_step_rank": 16,
      "ssm.inner_size": 2048,
    },
  },
  "granitehybrid-1b": {
    architecture: "granitehybrid",
    vocabulary: 100_352,
    has: /ssm_(conv1d\.bias|norm)/u,
    keys: {
      block_count: 40,
      context_length: 131_072,
      embedding_length: 1536,
      feed_forward_length: 4096,
      "attention.head_count": 12,
      "attention.head_count_kv": Array.from({ length: 40 }, (_, layer) => (layer % 10 === 5 ? 4 : 0)),
      "attention.layer_norm_rms_epsilon": 1e-5,
      embedding_scale: 12,
      residual_scale: 0.22,
      "attention.scale": 0.0078125,
      logit_scale: 6,
      "rope.scaling.finetuned": false,
      "ssm.conv_kernel": 4,
      "ssm.inner_size": 3072,
      "ssm.state_size": 128,
      "ssm.time_step_rank": 48,
      "ssm.group_count": 1,
    },
  },
} as const satisfies Readonly<Record<string, Shape>>;

export type ShapeName = keyof typeof SHAPES;
export const SHAPE_NAMES = Object.keys(SHAPES) as readonly ShapeName[];

/** One type for every weight, and the mix that most files are. */
export const TYPE_NAMES = [
  "q4_0",
  "q5_0",
  "q8_0",
  "q2_k",
  "q3_k",
  "q4_k",
  "q5_k",
  "q6_k",
  "iq4_xs",
  "iq3_s",
  "iq2_xs",
  "mxfp4",
  "tq2_0",
  "q4_k_m",
] as const;
export type TypeName = (typeof TYPE_NAMES)[number];

/** Of the packed weights: what a normed row becomes stays near 1. */
const DEVIATION = 0.03;
/** A prime number of blocks, so that rows differ. */
const BLOCKS = 521;
const REPEATS = 16;

type Tile = Uint8Array;
const tiles = new Map<string, Tile>();

async function tileOf(engine: CpuEngine, type: GgmlType): Promise<Tile> {
  const known = tiles.get(type.name);
  if (known !== undefined) return known;
  const to = type.element;
  if (to === undefined) throw new Error(`[types] ${type.name}: cannot be packed`);
  const columns = 256;
  const values = randomFloats(seededRandom(1), BLOCKS * columns, DEVIATION);
  const importance = new Float32Array(columns).fill(1);
  const bytes = new Uint8Array(values.buffer);
  const packed = await engine.repack({ from: "f32", bytes, to, columns, importance }, 2);
  const tile = new Uint8Array(packed.bytes.byteLength * REPEATS);
  for (let i = 0; i < REPEATS; i++) tile.set(packed.bytes, i * packed.bytes.byteLength);
  tiles.set(type.name, tile);
  return tile;
}

function* repeated(tile: Tile, length: number): Generator<Uint8Array> {
  for (let at = 0; at < length; at += tile.byteLength) yield tile.subarray(0, Math.min(tile.byteLength, length - at));
}

/** The recipe with this type for all weights; the types without one take the places of Q8_0. */
const plan = (header: Awaited<ReturnType<typeof sampleHeader>>, type: TypeName): ReturnType<typeof planQuantize> => {
  if (type === "q4_k_m") return planQuantize(header, { recipe: "q4_k_m" });
  const names: Partial<Record<TypeName, string>> = { q3_k: "q3_k_s", q4_k: "q4_k_s", q5_k: "q5_k_s", mxfp4: "q8_0" };
  return planQuantize(header, { recipe: recipeOf(names[type] ?? type), pure: true, importance: true });
};

export async function writeTypeModel(engine: CpuEngine, path: string, name: ShapeName, type: TypeName): Promise<void> {
  const { vocabulary, ...shape }: Shape = SHAPES[name];
  const width = Number(shape.keys["embedding_length"]);
  const sample: FamilySample = { ...shape, title: name, marks: { "token_embd.weight": [vocabulary, width] } };
  const header = await sampleHeader(familyOf(sample.architecture), sample);
  const planned = plan(header, type);
  const tensors: TensorToWrite[] = [];
  for (const { tensor, type: chosen } of planned.tensors) {
    const { name: own, dims } = tensor;
    if (chosen.name === "f32") {
      const data = (): readonly Uint8Array[] => [new Uint8Array(plainValues(own, [...dims].reverse()).buffer)];
      tensors.push({ name: own, dims, type: chosen, data });
      continue;
    }
    const packed = type === "mxfp4" ? typeNamed("mxfp4") : chosen;
    const tile = await tileOf(engine, packed);
    tensors.push({ name: own, dims, type: packed, data: () => repeated(tile, packedBytes(packed, tensor.elements)) });
  }
  const entries = withEntries(sampleEntries(sample), {
    "tokenizer.ggml.model": stringEntry("tokenizer.ggml.model", "no_vocab"),
    [`${sample.architecture}.vocab_size`]: numberEntry(`${sample.architecture}.vocab_size`, "u32", vocabulary),
  });
  await writeGguf(await openFileSink(path), { entries, tensors });
}

function familyOf(architecture: string): Family {
  const found = FAMILIES.find(({ architectures }) => architectures.includes(architecture));
  if (found === undefined) throw new Error(`[types] ${architecture}: no family answers for it`);
  return found;
}

function typeNamed(name: string): GgmlType {
  const found = ggmlTypeByName(name);
  if (found === undefined) throw new Error(`[types] ${name}: no type of ggml`);
  return found;
}
