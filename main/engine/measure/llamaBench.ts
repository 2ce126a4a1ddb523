/** Benchmark results in llama-bench's own JSON fields, so that existing scripts can read them. */
import type { BenchTest } from "../../runtime/bench.ts";
import { deviation, mean } from "../../runtime/statistics.ts";
import { VERSION } from "../../contract/version.ts";
import type { CacheType } from "../../models/blocks.ts";
import type { OpenModel } from "../models/openModel.ts";

export interface LlamaBenchRow {
  readonly model: Pick<OpenModel, "description" | "path" | "argument">;
  readonly test: BenchTest;
  readonly threads: number;
  readonly machine: string;
  /** What computed, as llama-bench names its backends. */
  readonly backends: string;
  readonly cacheType: CacheType;
  /** Tokens of a prompt that run at once. */
  readonly chunk: number;
  /** Whether weights are read where the file lies in memory. */
  readonly mapped: boolean;
}

/**
 * What llama-bench can be told and this engine has no switch for. llama.cpp's own compare-llama-bench.py refuses a row without
 * these fields and compares only rows in which they are the same, so each has the value of a llama-bench that was told nothing,
 * but for the layers on a GPU of llama.cpp's: there are none. `flash_attn` is a number as newer ones write it (-1 auto, 0 off, 1 on):
 * which kernel of attention runs is chosen here, by length, cache and types.
 */
const NO_SWITCH = {
  cpu_mask: "0x0",
  cpu_strict: false,
  poll: 50,
  n_gpu_layers: 0,
  n_cpu_moe: 0,
  split_mode: "layer",
  main_gpu: 0,
  no_kv_offload: false,
  flash_attn: -1,
  devices: "auto",
  tensor_split: "0.00",
  tensor_buft_overrides: "none",
  use_direct_io: false,
  embeddings: false,
  no_op_offload: 0,
  no_host: false,
  fit_target: 0,
  fit_min_ctx: 0,
} as const;

/** As llama-bench writes times, `%Y-%m-%dT%H:%M:%SZ`: there are readers that take no other form. */
const wholeSeconds = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, "Z");

export const llamaBenchJson = (rows: readonly LlamaBenchRow[]): string => JSON.stringify(rows.map(rowOf), undefined, 2);

function rowOf({ model, test, threads, machine, backends, chunk, cacheType, mapped }: LlamaBenchRow) {
  const { description } = model;
  return {
    build_commit: `rlx-${VERSION}`,
    build_number: 0,
    cpu_info: machine,
    gpu_info: "",
    backends,
    model_filename: model.path ?? model.argument ?? "",
    model_type: `${description.architecture.kind === "known" ? description.architecture.architecture.name : "unknown"} ${description.variant}`,
    model_size: description.tensorBytes,
    model_n_params: description.parameters,
    n_batch: chunk,
    n_ubatch: chunk,
    n_threads: threads,
    type_k: cacheType,
    type_v: cacheType,
    ...NO_SWITCH,
    // Older readers know the first, the newest the second.
    use_mmap: mapped,
    load_mode: mapped ? "mmap" : "none",
    n_prompt: test.test === "pp" ? test.tokens : 0,
    n_gen: test.test === "tg" ? test.tokens : 0,
    n_depth: test.depth,
    test_time: wholeSeconds(test.began),
    avg_ns: Math.round(mean(test.seconds) * 1e9),
    stddev_ns: Math.round(deviation(test.seconds) * 1e9),
    avg_ts: test.mean,
    stddev_ts: test.deviation,
    samples_ns: test.seconds.map((seconds) => Math.round(seconds * 1e9)),
    samples_ts: [...test.rates],
  };
}
