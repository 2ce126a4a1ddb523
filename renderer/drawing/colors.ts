/** The colours that the graph is drawn in. */
import type { Device } from "../../main/contract/views/common.ts";

export interface CanvasColors {
  readonly canvas: string;
  readonly panel: string;
  readonly raised: string;
  readonly sunken: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly edge: string;
  readonly ink: string;
  readonly ink2: string;
  readonly ink3: string;
  readonly select: string;
  readonly bar: string;
  readonly warn: string;
  readonly font: string;
  readonly mono: string;
  readonly change: { readonly added: string; readonly removed: string; readonly changed: string };
  readonly device: { readonly [D in Device]: string };
}

/** A colour of `ink` over `ground`, both "#rrggbb" or, as a bundler shortens it, "#rgb". */
export function mixed(ground: string, ink: string, share: number): string {
  const partsOf = (text: string): readonly number[] => {
    const digits = text.length === 4 ? text.replace(/[0-9a-f]/gi, "$&$&") : text;
    return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
  };
  const [below, above] = [partsOf(ground), partsOf(ink)];
  const parts = [0, 1, 2].map((at) => Math.round((below[at] ?? 0) * (1 - share) + (above[at] ?? 0) * share));
  return `rgb(${parts.join(" ")})`;
}
