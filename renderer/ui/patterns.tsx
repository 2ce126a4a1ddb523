/** SVG patterns of the devices, for everything that is drawn with them. Ids are per document: render this once. */
import type { ReactNode } from "react";
import type { Device } from "../../main/contract/views/common.ts";

export function DevicePatterns(): ReactNode {
  return (
    <svg width="0" height="0" style={{ position: "absolute" }} aria-hidden="true">
      <defs>
        <pattern id="device-gpu" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--gpu)" />
          <rect width="1.6" height="5" fill="#0005" />
        </pattern>
        <pattern id="device-cpu" width="5" height="5" patternUnits="userSpaceOnUse">
          <rect width="5" height="5" fill="var(--cpu)" />
          <circle cx="2.5" cy="2.5" r=".9" fill="color-mix(in srgb, var(--canvas) 60%, transparent)" />
        </pattern>
      </defs>
    </svg>
  );
}

const FILLS: { readonly [D in Device]: string } = {
  ane: "var(--ane)",
  gpu: "url(#device-gpu)",
  cpu: "url(#device-cpu)",
  host: "color-mix(in srgb, var(--host) 35%, transparent)",
  none: "transparent",
};

/** The fill with its pattern; host code has a dashed border besides. */
export const deviceFill = (device: Device): string => FILLS[device];
