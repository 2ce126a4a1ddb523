/** A model as the program opens it: with the passes of its compiler. */
import type { CpuEngine } from "../../main/backends/cpu/engine.ts";
import type { MlxMode } from "../../main/backends/mlx/engine.ts";
import type { GgufFile } from "../../main/formats/gguf/file.ts";
import { loadMlx } from "../../main/node/native/mlxAddon.ts";
import { openDecoder } from "../../main/runtime/devices/cpu.ts";
import type { MlxDecoderModel } from "../../main/runtime/devices/mlx.ts";
import { openMlxDecoder } from "../../main/runtime/devices/mlx.ts";
import { prepareDecoder } from "../../main/runtime/devices/provider.ts";

export const openModel = (
  engine: CpuEngine,
  file: GgufFile,
  path: string,
  threads: number,
): ReturnType<typeof openDecoder> =>
  openDecoder(engine, file, [path], { threads, prepare: prepareDecoder("cpu", { dispatch: "prefer-native" }) });

export const openOnMlx = (file: GgufFile, path: string, mode: MlxMode): MlxDecoderModel =>
  openMlxDecoder(loadMlx(), file, [path], {
    ...{ mode, cacheType: "f32", chunk: 64 },
    prepare: prepareDecoder("mlx", { dispatch: "prefer-native" }),
  });
