/** A model as the program opens it on the CPU: with the passes of its compiler. */
import type { CpuEngine } from "../../main/backends/cpu/engine.ts";
import type { GgufFile } from "../../main/formats/gguf/file.ts";
import { openDecoder } from "../../main/runtime/devices/cpu.ts";
import { prepareDecoder } from "../../main/runtime/devices/provider.ts";

export const openModel = (
  engine: CpuEngine,
  file: GgufFile,
  path: string,
  threads: number,
): ReturnType<typeof openDecoder> =>
  openDecoder(engine, file, [path], { threads, prepare: prepareDecoder("cpu", { dispatch: "prefer-native" }) });
