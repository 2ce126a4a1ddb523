/** The colours of the theme that is shown, read from the tokens. */
import type { Device } from "../../main/contract/views/common.ts";
import { DEVICES } from "../../main/contract/views/common.ts";
import type { CanvasColors } from "../drawing/colors.ts";
import { deviceLook } from "../ui/devices.ts";

export function readColors(element: Element): CanvasColors {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    canvas: of("--canvas"),
    panel: of("--panel"),
    raised: of("--raised"),
    sunken: of("--sunken"),
    line: of("--line"),
    lineStrong: of("--line-strong"),
    edge: of("--edge"),
    ink: of("--ink"),
    ink2: of("--ink-2"),
    ink3: of("--ink-3"),
    select: of("--select"),
    bar: of("--bar"),
    warn: of("--warn"),
    font: of("--font"),
    mono: of("--mono"),
    change: { added: of("--added"), removed: of("--removed"), changed: of("--changed") },
    device: Object.fromEntries(DEVICES.map((device) => [device, of(deviceLook(device).color)])) as {
      readonly [D in Device]: string;
    },
  };
}
