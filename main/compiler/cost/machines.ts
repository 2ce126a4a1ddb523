/**
 * Macs that forecasts are made for. Memory bandwidth and the GPU's rate are published (Apple's technical specifications), or
 * measured where this is the machine; the other rates say where they come from. What programs reach of a rate stands beside it.
 */
import { invariant } from "../../diagnostics/errors.ts";
import { familyOf } from "../../backends/coreml/plan/target.ts";

/** What reads the weights and multiplies. */
export const COMPUTE_UNITS = ["cpu", "gpu", "ane"] as const;
export type ComputeUnit = (typeof COMPUTE_UNITS)[number];

/** Shares of a rate. */
export interface Reach {
  readonly low: number;
  readonly high: number;
}

export interface Rate {
  readonly perSecond: number;
  readonly source: string;
  /** What programs reach of it. */
  readonly reach: Reach;
}

export interface Machine {
  /** "M4 Pro, 24 GB". */
  readonly title: string;
  /** "M4 Pro", without its memory. */
  readonly name: string;
  readonly memoryBytes: number;
  /** What programs may hold by default: on the CPU and the Neural Engine, and on the GPU. */
  readonly usable: Usable;
  /** Bytes. */
  readonly bandwidth: Readonly<Record<ComputeUnit, Rate>>;
  /** Operations. */
  readonly rate: Readonly<Record<ComputeUnit, Rate>>;
}

export interface Limit {
  readonly bytes: number;
  readonly source: string;
}
export interface Usable {
  readonly program: Limit;
  readonly gpu: Limit;
}

/** In decode, of the bandwidth. */
const BANDWIDTH_REACH: Readonly<Record<ComputeUnit, Reach>> = {
  gpu: { low: 0.55, high: 0.85 },
  ane: { low: 0.55, high: 0.85 },
  // llama.cpp on two x86 cores: 36 to 68 %.
  cpu: { low: 0.35, high: 0.7 },
};
/** In prefill, of the arithmetic. */
const RATE_REACH: Readonly<Record<ComputeUnit, Reach>> = {
  gpu: { low: 0.25, high: 0.5 },
  ane: { low: 0.4, high: 0.9 },
  cpu: { low: 0.25, high: 0.7 },
};
/** Of a bandwidth that a loop measured here: nothing reads faster, and weights are read almost as fast. */
const MEASURED_REACH: Reach = { low: 0.6, high: 1 };

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

/** Share of memory that macOS leaves to one program before it swaps. */
const USABLE_SHARE = 0.75;
const GIB = 2 ** 30;
/** Metal's own limit for what the GPU holds at once. */
const gpuShare = (bytes: number): number => (bytes < 36 * GIB ? 2 / 3 : 3 / 4);

/** What an own machine tells of itself: its memory, and what was measured there. */
interface Own {
  readonly title: string;
  readonly bytes: number;
  readonly gpuBytes?: number | undefined;
  readonly measured: readonly MeasuredBandwidth[];
}

function usableOf(bytes: number, gpuBytes: number | undefined): Usable {
  const size = `${Math.round(bytes / GIB)} GiB`;
  return {
    program: {
      bytes: bytes * USABLE_SHARE,
      source: `${USABLE_SHARE * 100} % of ${size}, what macOS leaves to one program`,
    },
    gpu:
      gpuBytes === undefined
        ? {
            bytes: bytes * gpuShare(bytes),
            source: `${Math.round(gpuShare(bytes) * 100)} % of ${size}, what Metal lets the GPU hold by default`,
          }
        : { bytes: gpuBytes, source: "what Metal says that this GPU may hold" },
  };
}

function machine(own: Chip, family: string, plain: Chip, { title, bytes, gpuBytes, measured }: Own): Machine {
  const published = (unit: ComputeUnit): Rate => {
    const found = measured.find((each) => each.unit === unit);
    if (found !== undefined)
      return { perSecond: found.perSecond, source: `measured here, on ${found.device}`, reach: MEASURED_REACH };
    const reach = BANDWIDTH_REACH[unit];
    return unit === "ane"
      ? {
          perSecond: plain.bandwidth * GB,
          source: `published for the ${plain.title}, whose Neural Engine all variants have`,
          reach,
        }
      : { perSecond: own.bandwidth * GB, source: `published for the ${own.title}`, reach };
  };
  return {
    title: `${title}, ${Math.round(bytes / GIB)} GB`,
    name: title,
    memoryBytes: bytes,
    usable: usableOf(bytes, gpuBytes),
    bandwidth: { cpu: published("cpu"), gpu: published("gpu"), ane: published("ane") },
    rate: {
      cpu: {
        perSecond: own.cores * own.clock * CPU_OPERATIONS * GB,
        source: `${own.cores} performance cores × ${own.clock} GHz × ${CPU_OPERATIONS} operations a cycle, in f32`,
        reach: RATE_REACH.cpu,
      },
      gpu: { perSecond: own.gpu * T, source: `published for the ${own.title}`, reach: RATE_REACH.gpu },
      ane: {
        perSecond: aneRate(Number(family.slice(1))),
        source: "measured by others for M1 and M5, between them interpolated",
        reach: RATE_REACH.ane,
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

/** Bytes per second of a loop over memory, as a device's calibration has it. */
export interface MeasuredBandwidth {
  readonly unit: "cpu" | "gpu";
  readonly device: string;
  readonly perSecond: number;
}

/** What a forecast must know of the machine that the engine runs on. */
export interface Here {
  readonly platform: string;
  readonly chip: string;
  readonly cores: number;
  readonly totalBytes: number;
  /** What Metal lets the GPU hold. */
  readonly gpuBytes?: number | undefined;
  readonly measured?: readonly MeasuredBandwidth[];
}

/** The id under which this machine is a target: "m4-pro"; undefined where it is no Mac that is known. */
export function chipHere({ platform, chip: brand, cores }: Here): string | undefined {
  const own = platform === "darwin" ? variantOf(brand) : undefined;
  if (own === undefined) return undefined;
  return CHIPS[`${own.id}@${cores}`] === undefined ? own.id : `${own.id}-${cores}`;
}

export interface NamedMachine {
  /** "m4": this Mac where it is one of the family. "m4-pro": that one. */
  readonly chip: string;
  /** Absent or null: as it is sold, or as this Mac has it. */
  readonly memoryGiB?: number | null | undefined;
}

const idOf = (key: string): string => key.replace("@", "-");
const BY_ID: ReadonlyMap<string, Chip> = new Map(Object.entries(CHIPS).map(([key, known]) => [idOf(key), known]));

/** The machine that a target names; this Mac with its variant, memory and measurements where it is that. */
export function machineFor({ chip: id, memoryGiB }: NamedMachine, here: Here): Machine {
  const named = familyOf(id);
  const family = BY_ID.has(named) ? named : DEFAULT;
  const plain = BY_ID.get(family);
  invariant(plain, `no machine ${family}`);
  const own = here.platform === "darwin" ? variantOf(here.chip) : undefined;
  const wished = memoryGiB === null || memoryGiB === undefined ? undefined : memoryGiB * GIB;
  if (own?.family === family && (id === family || id === chipHere(here))) {
    const found = BY_ID.get(chipHere(here) ?? own.id) ?? BY_ID.get(own.id);
    return machine(found ?? plain, family, plain, {
      title: found === undefined ? `this ${own.title}, reckoned as ${plain.title}` : `this ${own.title}`,
      bytes: wished ?? here.totalBytes,
      gpuBytes: wished === undefined ? here.gpuBytes : undefined,
      measured: here.measured ?? [],
    });
  }
  const found = BY_ID.get(id);
  const of = found ?? plain;
  const title =
    found === undefined && named === family && id !== family ? `${titleOf(id)}, reckoned as ${of.title}` : of.title;
  return machine(of, family, plain, { title, bytes: wished ?? of.memory * GIB, measured: [] });
}

/** "m5-max" is an "M5 Max". */
const titleOf = (id: string): string =>
  id.replaceAll(
    /(^|-)(\w)/g,
    (_all, dash: string, letter: string) => `${dash === "" ? "" : " "}${letter.toUpperCase()}`,
  );

/** Macs to choose from, family by family: their ids as targets, titles, and what they are sold with. */
export const MACHINES: readonly { readonly id: string; readonly title: string; readonly sentence: string }[] = [
  ...BY_ID,
].map(([id, { title, memory, bandwidth, cores, gpu }]) => ({
  id,
  title: /-\d+$/.test(id) ? `${title}, ${id.split("-").at(-1) ?? ""} cores` : title,
  sentence: `${memory} GB as sold at the least, ${bandwidth} GB/s, ${cores} performance cores, ${gpu} TFLOP/s on the GPU.`,
}));
