/** The devices of the workbench, one line each; the first is taken when nothing is chosen. See docs/extending.md. */
import type { MlxMode } from "../../backends/mlx/engine.ts";
import type { TargetSpec } from "../../contract/views/common.ts";
import type { EngineDevice } from "../../engine/devices.ts";
import { inSlices } from "../../engine/models/taskCache.ts";
import type { CpuAccess, OpenCpuDecoder } from "../../runtime/devices/cpu.ts";
import { cpuProvider } from "../../runtime/devices/cpu.ts";
import type { MlxAccess } from "../../runtime/devices/mlx.ts";
import { mlxProvider } from "../../runtime/devices/mlx.ts";
import type { DecoderCompile } from "../../runtime/devices/provider.ts";
import { referenceProvider } from "../../runtime/devices/reference.ts";
import type { CoremlAccess } from "./coreml/device.ts";
import { coremlProvider } from "./coreml/provider.ts";
import { simulatorProvider } from "./coreml/simulatorProvider.ts";

export interface DeviceParts extends DecoderCompile {
  readonly cpu: CpuAccess;
  readonly mlx: MlxAccess;
  readonly mlxMode: MlxMode;
  readonly coreml: CoremlAccess;
  readonly simulatorMemory: number;
  /** What packages are made for. */
  readonly target: TargetSpec;
  /** Opens decoders of the CPU engine, over kept plans where there are any. */
  readonly open: OpenCpuDecoder;
}

export const everyDevice = (parts: DeviceParts): readonly EngineDevice[] => [
  cpuProvider({ ...parts, access: parts.cpu }),
  simulatorProvider({ ...parts, engine: parts.cpu.engine, memoryLimit: parts.simulatorMemory }),
  coremlProvider({ ...parts, access: parts.coreml, engine: parts.cpu.engine }),
  mlxProvider({ ...parts, access: parts.mlx, mode: parts.mlxMode }),
  referenceProvider({
    pace: (steps, signal) => inSlices(steps, signal ?? new AbortController().signal),
    ...(parts.rings !== undefined && { rings: parts.rings }),
  }),
];
