/** Models of the three families small enough for the reference evaluator, without any file. */
import type { Graph, WeightSource } from "../ir/graph.ts";
import type { ElementType } from "../ir/dtype.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import type { TensorType } from "../ir/type.ts";
import { staticShape } from "../ir/type.ts";
import type { ModelOptions } from "../models/blocks.ts";
import type { DenseHyper } from "../models/dense.ts";
import { llama } from "../models/families/llama.ts";
import { qwen2 } from "../models/families/qwen2.ts";
import { qwen3 } from "../models/families/qwen3.ts";
import type { Architecture } from "../models/family.ts";
import { seededRandom } from "./random.ts";

const FAMILIES = { llama, qwen2, qwen3 } as const;
export type TinyFamily = keyof typeof FAMILIES;

export function tinyHyper(family: TinyFamily): DenseHyper {
  return {
    name: `tiny-${family}`,
    layers: 2,
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
    norm: "rms",
    normEpsilon: 1e-5,
    vocabulary: 48,
    context: 64,
    tiedEmbedding: family !== "llama",
    unusedWindow: 0,
  };
}

export const tinyArchitecture = (family: TinyFamily, change: Partial<DenseHyper> = {}): Architecture =>
  FAMILIES[family].of({ ...tinyHyper(family), ...change }, `tiny-${family}`);

/** Matrices of the given type, vectors f32; a qwen2 has biases on q, k and v. */
export function tinyWeights(architecture: Architecture, matrix: ElementType = "f32"): WeightSource {
  const shapes = new Map<string, readonly number[]>();
  const isPresent = (name: string): boolean => architecture.family === "qwen2" && /attn_[qkv]\.bias/u.test(name);
  for (const { name, shape } of architecture.tensors(isPresent)) shapes.set(name, shape);
  return {
    identity: `tiny ${architecture.name}`,
    has: (name) => shapes.has(name),
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

/** The graph of a tiny architecture over its own weights. */
export const tinyGraph = (architecture: Architecture, options: ModelOptions = TINY_OPTIONS): Graph =>
  finish(architecture.graph(tinyWeights(architecture), options));

export const tinyModel = (family: TinyFamily, layers = 2, options: ModelOptions = TINY_OPTIONS): Graph =>
  tinyGraph(tinyArchitecture(family, { layers }), options);
