/**
 * The smallest failing piece of a list, by trying parts of it: first the shortest beginning that fails, then the latest start of that,
 * then what can be left out between the two (delta debugging). What is returned was tried and did fail, whatever the failure
 * depends on; it is the smallest where every list that holds a failing piece fails.
 */

export interface Smallest<T> {
  readonly items: readonly T[];
  /** Pieces that were tried. */
  readonly tries: number;
  /** There were too many: `items` fails and may not be the smallest. */
  readonly stopped: boolean;
}

/** `items` is known to fail. */
export async function smallestFailing<T>(
  items: readonly T[],
  fails: (piece: readonly T[]) => Promise<boolean>,
  most: number,
): Promise<Smallest<T>> {
  let tries = 0;
  let best = items;
  /** Tries a piece that is smaller than the best, and keeps it if it fails; undefined: no more tries. */
  const attempt = async (piece: readonly T[]): Promise<boolean | undefined> => {
    if (tries >= most) return undefined;
    tries += 1;
    const failed = await fails(piece);
    if (failed) best = piece;
    return failed;
  };
  const stopped = (): Smallest<T> => ({ items: best, tries, stopped: true });

  for (const cut of [
    (all: readonly T[], keep: number) => all.slice(0, keep),
    (all: readonly T[], keep: number) => all.slice(all.length - keep),
  ]) {
    const all = best;
    let [passing, failing] = [0, all.length];
    while (failing - passing > 1) {
      const middle = (passing + failing) >> 1;
      const failed = await attempt(cut(all, middle));
      if (failed === undefined) return stopped();
      if (failed) failing = middle;
      else passing = middle;
    }
  }
  // The first and the last are needed; of those between, as many as possible go, in halves, quarters, one by one.
  for (let size = (best.length - 2) >> 1; size >= 1; size >>= 1) {
    let start = 1;
    while (start < best.length - 1) {
      const end = Math.min(start + size, best.length - 1);
      const failed = await attempt([...best.slice(0, start), ...best.slice(end)]);
      if (failed === undefined) return stopped();
      if (!failed) start = end;
    }
  }
  // A single one between them is no half of anything.
  if (best.length === 3 && (await attempt([best[0] as T, best[2] as T])) === undefined) return stopped();
  return { items: best, tries, stopped: false };
}
