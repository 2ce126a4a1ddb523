/** The devices of this machine: what is there, what is missing, each in a sentence. */
import type { DeviceInfo, RunDevice } from "../contract/views/engine.ts";
import type { Ability } from "../contract/views/common.ts";
import type { CpuEngine } from "../backends/cpu/engine.ts";
import { toWireError, WorkbenchError } from "../diagnostics/errors.ts";
import type { CoremlAccess } from "../node/devices/coreml/device.ts";
import { coremlMissing } from "../node/devices/coreml/device.ts";
import type { MlxAccess } from "./mlxAccess.ts";
import { REFERENCE_SENTENCE } from "./models/reference.ts";
import { cannot } from "./views/overviewView.ts";

export interface CpuAccess {
  /** The engine, or its ENV_NO_ADDON error. */
  readonly engine: () => CpuEngine;
  readonly missing: () => Ability | undefined;
  /** None was built, which is the one case in which the TypeScript reference stands in. */
  readonly absent: () => boolean;
}

export function cpuAccess(load: () => CpuEngine, absent: () => boolean = () => false): CpuAccess {
  let engine: CpuEngine | undefined;
  let failure: Error | undefined;
  const get = (): CpuEngine => {
    if (failure !== undefined) throw failure;
    try {
      return (engine ??= load());
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    }
  };
  return {
    engine: get,
    absent,
    missing() {
      try {
        get();
        return undefined;
      } catch (error) {
        const { code, message, hint } = toWireError(error);
        return cannot(code, message, hint ?? null);
      }
    },
  };
}

/** What MLX is here, or what is missing. */
export const mlxSentence = (mlx: MlxAccess): string =>
  mlx.missing() ??
  `${mlx.title()}: ${mlx.engine().device === "gpu" ? "runs on this Mac's GPU." : "for checking; MLX is fast on a Mac's GPU."}`;

/** What Core ML is here, or what is missing. */
export function coremlSentence(coreml: CoremlAccess): string {
  const missing = coremlMissing(coreml);
  if (missing !== undefined) return missing;
  const bridge = coreml.bridge();
  if (bridge.truth === "simulated") return "Core ML is simulated: nothing is measured.";
  const { chip, os, ane } = bridge.machine();
  return `${chip}, macOS ${os}, ${ane ? "with" : "without"} a Neural Engine.`;
}

function cpuSentence(cpu: CpuAccess, missing: Ability | undefined): string {
  if (missing === undefined) return `The native engine with ${cpu.engine().isa} kernels.`;
  if (cpu.absent()) return REFERENCE_SENTENCE;
  return missing.ok ? "" : missing.sentence;
}

export function deviceList(cpu: CpuAccess, mlx: MlxAccess, coreml: CoremlAccess): readonly DeviceInfo[] {
  const missing = cpu.missing();
  return [
    {
      id: "cpu",
      title: "CPU",
      available: missing === undefined || cpu.absent(),
      sentence: cpuSentence(cpu, missing),
    },
    {
      id: "coreml-sim",
      title: "Core ML, simulated",
      available: true,
      sentence: "Reads the package back from disk and runs its program in TypeScript: for checking, not for speed.",
    },
    {
      id: "coreml",
      title: "Core ML",
      available: coremlMissing(coreml) === undefined,
      sentence: coremlSentence(coreml),
    },
    { id: "mlx", title: "MLX", available: mlx.missing() === undefined, sentence: mlxSentence(mlx) },
  ];
}

/** Which devices can do a thing; what cannot says why. */
export function requireDevice(device: RunDevice, what: string): void {
  // MLX and Core ML say themselves what is missing when they are asked for.
  if (device === "cpu" || device === "mlx" || device === "coreml" || device === "coreml-sim") return;
  throw new WorkbenchError("ENV_NO_DEVICE", `[${what}] the device ${device} is not part of this version`, {
    hint: "Choose cpu, mlx or coreml-sim.",
  });
}
