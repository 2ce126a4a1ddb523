/** The MLX engine of this machine, or why there is none, looked for once; and how the workbench opens decoders on it. */
import type { MlxMode, MlxEngine } from "../backends/mlx/engine.ts";
import { compile } from "../compiler/compile.ts";
import type { CompileWatch } from "../compiler/prepare.ts";
import type { DispatchPolicy } from "../compiler/support.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { DecoderModel } from "../runtime/decoderModel.ts";
import { openMlxDecoder, mlxTitle } from "../runtime/devices/mlx.ts";
import { findMlxEngine } from "../node/native/mlxAddon.ts";

export interface MlxAccess {
  /** As its decoders are compiled. */
  readonly dispatch: DispatchPolicy;
  /** A sentence when it is missing. */
  readonly missing: () => string | undefined;
  /** "MLX 0.32.4, its CPU build". */
  readonly title: () => string;
  /** Throws ENV_NO_DEVICE. */
  readonly engine: () => MlxEngine;
  readonly open: (
    file: GgufFile,
    paths: readonly string[],
    options: { readonly cacheType: "f16" | "f32"; readonly chunk?: number },
  ) => DecoderModel;
}

export interface MlxSettings {
  readonly mode: MlxMode;
  readonly dispatch: DispatchPolicy;
  readonly watch?: CompileWatch;
}

const CPU_CHUNK = 64;

export function mlxAccess(
  { mode, dispatch, watch }: MlxSettings,
  find: () => MlxEngine | string = findMlxEngine,
): MlxAccess {
  let known: MlxEngine | string | undefined;
  const get = (): MlxEngine | string => (known ??= find());
  const engine = (): MlxEngine => {
    const found = get();
    if (typeof found === "string")
      throw new WorkbenchError("ENV_NO_DEVICE", found, { hint: "Choose cpu, or build the MLX engine." });
    return found;
  };
  return {
    dispatch,
    engine,
    missing: () => {
      const found = get();
      return typeof found === "string" ? found : undefined;
    },
    title: () => mlxTitle(engine()),
    open: (file, paths, options) =>
      openMlxDecoder(engine(), file, paths, {
        // A run is cancelled between evaluations: where MLX is slow, prompts are cut smaller.
        ...(engine().device === "cpu" ? { chunk: CPU_CHUNK } : {}),
        ...options,
        mode,
        prepare: (graph) => {
          const compiled = compile(graph, { backend: "mlx", dispatch, verify: watch?.verify ?? false });
          watch?.tell({ backend: "mlx", what: "decoder", records: compiled.records, legal: compiled });
          return compiled.graph;
        },
      }),
  };
}
