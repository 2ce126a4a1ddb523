/** The scale of heat maps. */

/**
 * Cividis, made for eyes that see no red or no green: nine stops of the published map
 * (Nuñez, Anderton, Renslow, PLOS ONE 2018), straight lines between them.
 */
const CIVIDIS = [
  [0, 32, 77],
  [0, 52, 110],
  [57, 72, 107],
  [87, 92, 109],
  [112, 113, 115],
  [138, 134, 120],
  [165, 156, 116],
  [195, 179, 105],
  [255, 233, 69],
] as const;

export function heatColor(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (CIVIDIS.length - 1);
  const low = CIVIDIS[Math.floor(at)] ?? CIVIDIS[0];
  const high = CIVIDIS[Math.ceil(at)] ?? CIVIDIS[8];
  const mix = (i: 0 | 1 | 2): number => Math.round(low[i] + (high[i] - low[i]) * (at % 1));
  return `rgb(${mix(0)} ${mix(1)} ${mix(2)})`;
}
