/** Calibrations of this machine's devices: measured once per device, version and chip, and kept in the user's cache folder. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { CompileStore } from "../../compiler/compileCache.ts";
import { hashText } from "../../ir/hash.ts";
import { byteLength } from "../../ir/type.ts";
import type { CalibrationStore, KnownCalibration } from "../../engine/services.ts";
import type { Calibration } from "../../runtime/calibration.ts";
import { CALIBRATION_WEIGHT, calibrateDevice } from "../../runtime/calibration.ts";
import type { Device } from "../../runtime/device.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";

/** Raise it when a measurement changes. */
const VERSION = 1;
const positive = z.number().positive();
const stored = z.object({
  device: z.string(),
  title: z.string(),
  gemm: z.array(z.object({ size: positive, flops: positive })).min(1),
  bandwidth: positive,
  reduction: positive,
  attention: positive,
  quantised: positive,
  roundTrip: positive,
});

export interface CalibrationParts {
  /** Made over the weight that the quantised product reads. */
  readonly devices: readonly ((weights: WeightFiles) => Device)[];
  /** Chip and threads: the numbers depend on them. */
  readonly machine: string;
  /** Without it, every call measures. */
  readonly store: CompileStore | undefined;
  /** Hash of the measured sources. Without it nothing is kept. */
  readonly build: string | undefined;
  readonly signal?: AbortSignal;
  /** Measures again even where a result is kept. */
  readonly again?: boolean;
}

export async function calibrations(parts: CalibrationParts): Promise<readonly KnownCalibration[]> {
  const folder = await mkdtemp(join(tmpdir(), "rlx-calibration-"));
  try {
    const path = join(folder, "weight.bin");
    const bytes = Number(byteLength(CALIBRATION_WEIGHT));
    // Zero codes under zero scales: the time of a product does not depend on the values.
    await writeFile(path, new Uint8Array(bytes));
    const weights: WeightFiles = { paths: [path], locate: () => ({ file: 0, offset: 0, bytes }) };
    const found: KnownCalibration[] = [];
    for (const make of parts.devices) found.push(await oneOf(make(weights), parts));
    return found;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Kept = Pick<CalibrationParts, "machine" | "store" | "build">;

const storeOf = ({ store, build }: Kept): CompileStore | undefined => (build === undefined ? undefined : store);
const keyOf = (device: Pick<Device, "title">, { build, machine }: Kept): string =>
  hashText(["calibration", VERSION, build ?? "", device.title, machine].join("\n"));

/** The kept result for a device. Measures nothing. */
export async function keptCalibration(
  device: Pick<Device, "id" | "title">,
  parts: Kept,
): Promise<Calibration | undefined> {
  // A store that fails costs time, never the result.
  const kept = readKept(
    await storeOf(parts)
      ?.get(keyOf(device, parts))
      .catch(() => undefined),
  );
  return kept?.device === device.id ? kept : undefined;
}

async function oneOf(device: Device, parts: CalibrationParts): Promise<KnownCalibration> {
  const kept = parts.again === true ? undefined : await keptCalibration(device, parts);
  if (kept !== undefined) return { calibration: kept, how: "kept" };
  const calibration = await calibrateDevice(device, parts.signal);
  await storeOf(parts)
    ?.put(keyOf(device, parts), new TextEncoder().encode(JSON.stringify(calibration)))
    .catch(() => undefined);
  return { calibration, how: "measured" };
}

/** Kept results are untrusted: one that does not parse is measured again. */
function readKept(bytes: Uint8Array | undefined): Calibration | undefined {
  if (bytes === undefined) return undefined;
  try {
    return stored.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return undefined;
  }
}

/** Calibrations of this machine, as the engine is given them. */
export const calibrationStore = (parts: Kept): CalibrationStore => ({
  kept: (device) => keptCalibration(device, parts),
  measure: (devices, options) => calibrations({ ...parts, ...options, devices }),
});
