/**
 * Macs that forecasts are made for. Memory bandwidth and the GPU's rate are published (Apple's technical specifications); the
 * other rates say where they come from. What a program reaches of them is stated beside each forecast.
 */
import type { Machine as ThisMachine } from "../services.ts";

/** What reads the weights and multiplies. */
export type ComputeUnit = "cpu" | "gpu" | "ane";

interface Sourced {
  readonly perSecond: number;
  readonly source: string;
}

export interface Machine {
  readonly title: string;
  readonly memoryBytes: number;
  /** Bytes. */
  readonly bandwidth: Readonly<Record<ComputeUnit, Sourced>>;
  /** Operations. */
  readonly rate: Readonly<Record<ComputeUnit, Sourced>>;
}

interface Chip {
  readonly title: string;
  /** As sold with it: GiB. */
  readonly memory: number;
  /** GB/s. */
  readonly bandwidth: number;
  /** f32 TFLOP/s. */
  readonly gpu: number;
  /** Performance cores and their clock in GHz. */
  readonly cores: number;
  readonly clock: number;
}

const chip = (
  title: string,
  [memory, bandwidth, gpu]: readonly [number, number, number],
  [cores, clock]: readonly [number, number],
): Chip => ({ title, memory, bandwidth, gpu, cores, clock });

/** By family and variant; behind @ the number of all cores, where a variant is sold in two sizes. */
const CHIPS: Readonly<Record<string, Chip>> = {
  m1: chip("M1", [16, 68.25, 2.6], [4, 3.2]),
  "m1-pro": chip("M1 Pro", [16, 200, 5.2], [8, 3.2]),
  "m1-max": chip("M1 Max", [32, 400, 10.4], [8, 3.2]),
  "m1-ultra": chip("M1 Ultra", [64, 800, 20.8], [16, 3.2]),
  m2: chip("M2", [16, 100, 3.6], [4, 3.5]),
  "m2-pro": chip("M2 Pro", [16, 200, 6.8], [8, 3.5]),
  "m2-max": chip("M2 Max", [32, 400, 13.6], [8, 3.7]),
  "m2-ultra": chip("M2 Ultra", [64, 800, 27.2], [16, 3.7]),
  m3: chip("M3", [16, 100, 4.1], [4, 4.05]),
  "m3-pro": chip("M3 Pro", [18, 150, 7.4], [6, 4.05]),
  "m3-max": chip("M3 Max", [36, 300, 10.7], [10, 4.05]),
  "m3-max@16": chip("M3 Max", [48, 400, 14.2], [12, 4.05]),
  "m3-ultra": chip("M3 Ultra", [96, 819, 28.4], [20, 4.05]),
  m4: chip("M4", [24, 120, 4.3], [4, 4.4]),
  "m4-pro": chip("M4 Pro", [24, 273, 9.2], [10, 4.5]),
  "m4-max": chip("M4 Max", [36, 410, 13.8], [10, 4.5]),
  "m4-max@16": chip("M4 Max", [48, 546, 17], [12, 4.5]),
  m5: chip("M5", [24, 153, 5.7], [4, 4.6]),
};
const DEFAULT = "m4";

const GB = 1e9;
const T = 1e12;
/** Four vector units of four f32 lanes, a multiplication and an addition each. */
const CPU_OPERATIONS = 32;

/** What one Neural Engine reaches with f16, measured for M1 and M5 (as the dispatch floors of the targets). */
const aneRate = (generation: number): number => (3.25 + ((9.5 - 3.25) * (generation - 1)) / 4) * T;

function machine(
  own: Chip,
  family: string,
  plain: Chip,
  { title = own.title, bytes = own.memory * 2 ** 30 } = {},
): Machine {
  const memory = { perSecond: own.bandwidth * GB, source: `published for the ${own.title}` };
  return {
    title: `${title}, ${Math.round(bytes / 2 ** 30)} GB`,
    memoryBytes: bytes,
    bandwidth: {
      cpu: memory,
      gpu: memory,
      ane: {
        perSecond: plain.bandwidth * GB,
        source: `published for the ${plain.title}, whose Neural Engine all variants have`,
      },
    },
    rate: {
      cpu: {
        perSecond: own.cores * own.clock * CPU_OPERATIONS * GB,
        source: `${own.cores} performance cores × ${own.clock} GHz × ${CPU_OPERATIONS} operations a cycle, in f32`,
      },
      gpu: { perSecond: own.gpu * T, source: `published for the ${own.title}` },
      ane: {
        perSecond: aneRate(Number(family.slice(1))),
        source: "measured by others for M1 and M5, between them interpolated",
      },
    },
  };
}

/** "Apple M4 Pro" is m4 and m4-pro. */
function variantOf(
  brand: string,
): { readonly family: string; readonly id: string; readonly title: string } | undefined {
  const [title, family, variant] = /\b(M\d+)(?: (Pro|Max|Ultra))?\b/.exec(brand) ?? [];
  if (title === undefined || family === undefined) return undefined;
  const id = (variant === undefined ? family : `${family}-${variant}`).toLowerCase();
  return { family: family.toLowerCase(), id, title };
}

/** What a forecast must know of the machine that the engine runs on. */
export type Here = Pick<ThisMachine, "platform" | "chip" | "cores" | "totalBytes">;

/**
 * The machine that a target's chip stands for: this Mac with its variant and memory if it is of that family, else the plain chip
 * as it is sold.
 */
export function machineFor(family: string, here: Here): Machine {
  const known = CHIPS[family] === undefined ? DEFAULT : family;
  const plain = CHIPS[known] as Chip;
  const own = here.platform === "darwin" ? variantOf(here.chip) : undefined;
  if (own?.family !== known) return machine(plain, known, plain);
  const found = CHIPS[`${own.id}@${here.cores}`] ?? CHIPS[own.id];
  const title = found === undefined ? `this ${own.title}, reckoned as ${plain.title}` : `this ${own.title}`;
  return machine(found ?? plain, known, plain, { title, bytes: here.totalBytes });
}
