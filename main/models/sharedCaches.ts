/**
 * Caches that several layers read: from some layer on, layers have queries only and attend over the caches of the
 * last layer before them that sees as much as they do. The attention of the families that do so.
 */
import type { Value } from "../ir/graph.ts";
import type { Decoder } from "./decoder.ts";
import type { DenseHyper, LayerSizes } from "./dense.ts";
import type { DenseLayer } from "./denseBlocks.ts";
import type { HyperReader } from "./hyperReader.ts";

type Sizes = Pick<DenseHyper, "layers" | "windows" | "ofLayer"> & Required<LayerSizes>;

/** The layer whose caches each layer reads; the first `own` have caches. */
export function cachesOf(keys: HyperReader, own: number, sizes: Sizes): (layer: number) => number {
  const isLocal = (layer: number): boolean => sizes.windows?.isLocal(layer) ?? false;
  const source = (layer: number): number => (layer < own ? layer : own - (isLocal(layer) ? 2 : 1));
  const sizeOf = (layer: number): string => {
    const { kvHeads, headDim } = { ...sizes, ...sizes.ofLayer?.(layer) };
    return `${kvHeads} × ${headDim}${isLocal(layer) ? " in a window" : ""}`;
  };
  for (let layer = own; layer < sizes.layers; layer++) {
    const from = source(layer);
    if (from < 0 || sizeOf(from) !== sizeOf(layer))
      throw keys.malformed(
        `layer ${layer} reads the caches of layer ${from}: got ${from < 0 ? "no such layer" : sizeOf(from)}, expected ${sizeOf(layer)}`,
      );
  }
  return source;
}

/** True for tensors that make keys and values in layers that read another layer's. */
export const isUnusedKey = (tensor: string, { cacheOf, layers }: DenseHyper): boolean => {
  const found = /^blk\.(\d+)\.attn_(?:k|v|k_norm)\./u.exec(tensor);
  const layer = Number(found?.[1] ?? layers);
  return layer < layers && cacheOf !== undefined && cacheOf(layer) !== layer;
};

/** Normed heads, turned; values normed without a weight, from the keys where the layer has no attn_v. */
export function attendShared(layer: DenseLayer<Decoder>, h: Value, source: number): Value {
  const fused = layer.has("attn_qkv.weight") ? layer.heads(h) : undefined;
  const q = layer.rope(layer.headNorm(fused?.q ?? layer.project(h, "q"), "q"), "q");
  if (source !== layer.index) return layer.attendOverLayer(q, source);
  const keys = fused?.k ?? layer.project(h, "k");
  const values = fused?.v ?? (layer.has("attn_v.weight") ? layer.project(h, "v") : keys);
  return layer.attend({ q, k: layer.rope(layer.headNorm(keys, "k"), "k"), v: layer.valueNorm(values) });
}
