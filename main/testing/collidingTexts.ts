/** Texts that collide under FNV-1a, which has no key: an attack on a string index. */

/** Both blocks of a pair lead the hash to the same state. The last pair can be repeated. */
const BLOCKS = [
  ["h9Gc", "THad"],
  ["O0Cc", "sAad"],
  ["Q9Cc", "MHad"],
] as const;

/** 2^doublings texts (at most 2^16), all different, all with one hash. */
export function collidingTexts(doublings: number): string[] {
  let texts = [""];
  for (let i = 0; i < doublings; i++) {
    const pair = BLOCKS[Math.min(i, 2)] ?? BLOCKS[2];
    texts = texts.flatMap((text) => pair.map((block) => text + block));
  }
  return texts;
}

export function fnv1a(text: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  return hash;
}
