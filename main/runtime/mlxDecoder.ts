/** A decoder on MLX: the same template and the same sessions as on the CPU, over MLX's plan and weights. */
import type { MlxMode } from "../backends/mlx/engine.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { DecoderModel, DecoderPlanOptions } from "./decoderModel.ts";
import { decoderGraph, decoderOver, locateIn, requireData } from "./decoderModel.ts";
import type { MlxCompiled, MlxEngine } from "./mlxDevice.ts";
import { mlxDevice } from "./mlxDevice.ts";

export interface MlxDecoderOptions extends DecoderPlanOptions {
  readonly mode: MlxMode;
  readonly fastRope?: boolean;
}

export interface MlxDecoderModel extends DecoderModel {
  readonly compiled: MlxCompiled;
}

export function openMlxDecoder(
  engine: MlxEngine,
  file: GgufFile,
  paths: readonly string[],
  options: MlxDecoderOptions,
): MlxDecoderModel {
  const graph = decoderGraph(requireData(file), options);
  const device = mlxDevice(engine, {
    mode: options.mode,
    weights: { paths, locate: locateIn(file) },
    ...(options.fastRope === undefined ? {} : { fastRope: options.fastRope }),
  });
  const compiled = device.compile(graph);
  return { ...decoderOver(file, options, compiled), compiled };
}
