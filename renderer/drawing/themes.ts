/** The colours of both themes for drawings that no browser makes; a test compares them with renderer/tokens.css. */
import type { CanvasColors } from "./colors.ts";

const FONTS = {
  font: 'system-ui, -apple-system, "SF Pro Text", "Inter", "Noto Sans", sans-serif',
  mono: 'ui-monospace, "SF Mono", "JetBrains Mono", "DejaVu Sans Mono", monospace',
};

export const THEMES = {
  light: {
    ...FONTS,
    ...{ canvas: "#ffffff", panel: "#f6f6f7", raised: "#ffffff", sunken: "#ececef" },
    ...{ line: "#dfe1e6", lineStrong: "#c5c9d1", edge: "#9198a5" },
    ...{ ink: "#1b1d21", ink2: "#555c68", ink3: "#7d8592" },
    ...{ select: "#a87400", bar: "#8b94a3", warn: "#a87400" },
    change: { added: "#2f6fd0", removed: "#b3621b", changed: "#555c68" },
    device: { none: "#7d8592", ane: "#3876db", gpu: "#9a3b18", cpu: "#22383b", host: "#be74a3" },
  },
  dark: {
    ...FONTS,
    ...{ canvas: "#16181d", panel: "#1b1e24", raised: "#22262e", sunken: "#121419" },
    ...{ line: "#2b3039", lineStrong: "#3a404c", edge: "#656e7d" },
    ...{ ink: "#e8eaee", ink2: "#a9b0bc", ink3: "#757d8b" },
    ...{ select: "#f0c34e", bar: "#6f7a8c", warn: "#f0c34e" },
    change: { added: "#6ea8ff", removed: "#e08a3c", changed: "#a9b0bc" },
    device: { none: "#757d8b", ane: "#55b7fe", gpu: "#da511f", cpu: "#dee4ed", host: "#b76a95" },
  },
} as const satisfies { readonly [theme: string]: CanvasColors };
export type Theme = keyof typeof THEMES;
