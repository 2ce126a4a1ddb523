/** The ground of a cell: none for the least alike, the most for 1. Cosines of one model often lie close together. */
const STRONGEST = 50;

export function shade(cosine: number, least: number): number {
  const room = 1 - least;
  const share = room <= 0 ? 1 : (cosine - least) / room;
  return Math.round(Math.min(1, Math.max(0, share)) * STRONGEST);
}
