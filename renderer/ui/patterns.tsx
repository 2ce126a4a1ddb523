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
        <pattern id="wait-hop" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
          <rect width="5" height="5" fill="var(--sunken)" />
          <rect width="1.6" height="5" fill="var(--ink-3)" />
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

/** Time in which no device computes: handing over is hatched, copying caches is plain grey. */
export const waitFill = (kind: "hop" | "caches"): string => (kind === "hop" ? "url(#wait-hop)" : "var(--line-strong)");

/** For a legend, beside its word. */
export function WaitSwatch({ kind }: { readonly kind: "hop" | "caches" }): ReactNode {
  return (
    <svg width="12" height="9" aria-hidden="true" style={{ marginRight: 4 }}>
      <rect width="12" height="9" rx="1.5" fill={waitFill(kind)} />
    </svg>
  );
}

/** The fill with its pattern; host code has a dashed border besides. */
export const deviceFill = (device: Device): string => FILLS[device];
