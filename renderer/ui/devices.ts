/** How a device looks: colour, pattern, glyph and letter always travel together. */
import type { Device } from "../../main/contract/views/common.ts";

export interface DeviceLook {
  readonly name: string;
  readonly short: string;
  readonly letter: string;
  /** Custom property that holds the colour. */
  readonly color: string;
  /** Path of the glyph in a 10 × 10 box. */
  readonly glyph: string;
  readonly pattern: "solid" | "hatch" | "dots" | "dashed" | "none";
}

const LOOKS: { readonly [D in Device]: DeviceLook } = {
  ane: {
    name: "Neural Engine",
    short: "ANE",
    letter: "A",
    color: "--ane",
    glyph: "M5 0l4.3 2.5v5L5 10 .7 7.5v-5z",
    pattern: "solid",
  },
  gpu: { name: "GPU", short: "GPU", letter: "G", color: "--gpu", glyph: "M5 .6L10 9.4H0z", pattern: "hatch" },
  cpu: {
    name: "CPU",
    short: "CPU",
    letter: "C",
    color: "--cpu",
    glyph: "M5 .6a4.4 4.4 0 1 1 0 8.8 4.4 4.4 0 0 1 0-8.8z",
    pattern: "dots",
  },
  host: {
    name: "Host code",
    short: "host",
    letter: "H",
    color: "--host",
    glyph: "M5 0l5 5-5 5-5-5z",
    pattern: "dashed",
  },
  none: { name: "No device", short: "none", letter: "–", color: "--ink-3", glyph: "M2 2h6v6H2z", pattern: "none" },
};

export const deviceLook = (device: Device): DeviceLook => LOOKS[device];
