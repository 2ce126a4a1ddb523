/** Which tensors a search finds: the same in the engine's list and in the window's picture of the file. */

/** Each must occur in the name, the type or the shape. "layer 3" and "block 3" are what files call "blk.3.". */
export function tensorWords(query: string): readonly string[] {
  const named = query.toLowerCase().replace(/\b(?:layer|block)[ :]+(\d+)(?!\S)/g, "blk.$1.");
  return named.split(/\s+/).filter((word) => word !== "");
}

export function holdsWords(
  words: readonly string[],
  { name, type, shape }: { readonly name: string; readonly type: string; readonly shape: readonly number[] },
): boolean {
  if (words.length === 0) return true;
  const columns = `${name} ${type} ${shape.join("×")}`.toLowerCase();
  return words.every((word) => columns.includes(word));
}
