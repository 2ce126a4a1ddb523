/** Models of the three families small enough for the reference evaluator, without any file. */
import type { Architecture, Family } from "../formats/gguf/architecture.ts";
import { decoderTensors } from "../formats/gguf/decoderTensors.ts";
import type { Graph, WeightSource } from "../ir/graph.ts";
import type { ElementType } from "../ir/dtype.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import type { TensorType } from "../ir/type.ts";
import { staticShape } from "../ir/type.ts";
import type { ModelOptions } from "../models/blocks.ts";
import { buildModel } from "../models/buildModel.ts";
import { seededRandom } from "./random.ts";

export function tinyArchitecture(family: Family, layers = 2): Architecture {
  return {
    name: `tiny-${family}`,
    family,
    layers,
    width: 32,
    feedForward: 64,
    heads: 4,
    kvHeads: 2,
    headDim: 8,
    rope: {
      dims: 8,
      base: 10000,
      pairing: family === "llama" ? "adjacent" : "halves",
      scaling: { kind: "none" },
      attentionFactor: 1,
      factorsTensor: undefined,
    },
    normEpsilon: 1e-5,
    vocabulary: 48,
    context: 64,
    tiedEmbedding: family !== "llama",
    biases: { qkv: family === "qwen2", attentionOutput: false, feedForward: false },
    qkNorm: family === "qwen3",
  };
}

/** Matrices of the given type, vectors f32. */
export function tinyWeights(architecture: Architecture, matrix: ElementType = "f32"): WeightSource {
  const { biases } = architecture;
  const shapes = new Map<string, readonly number[]>();
  for (const { name, shape, optional } of decoderTensors(architecture))
    if (!optional || (biases.qkv && /attn_[qkv]/u.test(name))) shapes.set(name, shape);
  return {
    identity: `tiny ${architecture.name}`,
    tensorType: (name): TensorType | undefined => {
      const shape = shapes.get(name);
      return shape && { dtype: shape.length === 2 ? matrix : "f32", shape };
    },
  };
}

/** The same numbers for the same name; vectors near 1 where they scale. */
export function tinyParam(name: string, type: TensorType): HostTensor {
  const seed = [...name].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) >>> 0, 7);
  const random = seededRandom(seed);
  const shape = staticShape(type, name);
  const scale = shape.length === 2 ? 1 / Math.sqrt(shape[1] ?? 1) : 0.1;
  const offset = name.includes("norm") ? 1 : 0;
  const data = Float64Array.from({ length: sizeOf(shape) }, () => Math.fround(random.normal() * scale + offset));
  return hostTensor("f32", shape, data);
}

export const TINY_OPTIONS: ModelOptions = { capacity: 16, cacheType: "f32", largestStep: 8, largestRows: 8 };

export const tinyModel = (family: Family, layers = 2, options: ModelOptions = TINY_OPTIONS): Graph => {
  const architecture = tinyArchitecture(family, layers);
  return buildModel(architecture, tinyWeights(architecture), options);
};
