/**
 * The widths of the panes beside the view and the height of the log, in pixels: what fits a window of this size, and what
 * was chosen here before. Shares of the window would make the navigator of a wide screen as wide as a page.
 */
export const PANES = ["navigator", "inspector", "log"] as const;
export type Pane = (typeof PANES)[number];

export interface PaneLimits {
  readonly least: number;
  readonly most: number;
}
export const LIMITS: { readonly [P in Pane]: PaneLimits } = {
  navigator: { least: 150, most: 420 },
  inspector: { least: 210, most: 560 },
  log: { least: 90, most: 520 },
};
/** The view keeps at least this, also in the smallest window with both panes at their default widths. */
export const LEAST_VIEW = { width: 520, height: 200 };

const clamp = (value: number, { least, most }: PaneLimits): number => Math.min(most, Math.max(least, value));

export function defaultSize(pane: Pane, windowWidth: number): number {
  switch (pane) {
    case "navigator":
      return Math.round(Math.min(224, Math.max(180, windowWidth * 0.156)));
    case "inspector":
      return Math.round(Math.min(304, Math.max(232, windowWidth * 0.21)));
    case "log":
      return 168;
  }
}

/** `stored`: the text under the key, null or possibly of an older version. */
export function storedSize(stored: string | null, pane: Pane): number | null {
  if (stored === null || stored.trim() === "") return null;
  const size = Number(stored);
  return Number.isFinite(size) ? clamp(size, LIMITS[pane]) : null;
}

export const paneKey = (pane: Pane): string => `rlx.pane.${pane}`;
