/** The length of the gradient by layer, from that of each parameter. */

/** "layers.3.qkv" belongs to "layers.3", "conv1.bias" to "conv1". */
const layerOf = (name: string): string =>
  /^(?:layers|blk)\.\d+/u.exec(name)?.[0] ?? (name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : name);

export function layerNorms(names: readonly string[], norms: readonly number[]): { layer: string; norm: number }[] {
  const squares = new Map<string, number>();
  names.forEach((name, i) => {
    const layer = layerOf(name);
    squares.set(layer, (squares.get(layer) ?? 0) + (norms[i] ?? NaN) ** 2);
  });
  return [...squares].map(([layer, sum]) => ({ layer, norm: Math.sqrt(sum) }));
}
