/** Benchmark results in llama-bench's own JSON fields, so that existing scripts can read them. */
import type { BenchTest } from "../../runtime/bench.ts";
import { VERSION } from "../version.ts";
import type { OpenModel } from "./openModel.ts";

export interface LlamaBenchInput {
  readonly model: OpenModel;
  readonly tests: readonly BenchTest[];
  readonly threads: number;
  readonly began: Date;
  readonly machine: string;
}

export function llamaBenchJson(input: LlamaBenchInput): string {
  const { model, threads, began, machine } = input;
  const { description } = model;
  const rows = input.tests.map((test) => ({
    build_commit: `rlx-${VERSION}`,
    build_number: 0,
    cpu_info: machine,
    gpu_info: "",
    backends: "CPU",
    model_filename: model.path ?? model.argument ?? "",
    model_type: `${description.architecture.kind === "known" ? description.architecture.architecture.name : "unknown"} ${description.variant}`,
    model_size: description.tensorBytes,
    model_n_params: description.parameters,
    n_batch: 512,
    n_ubatch: 512,
    n_threads: threads,
    type_k: "f16",
    type_v: "f16",
    n_gpu_layers: 0,
    use_mmap: true,
    n_prompt: test.test === "pp" ? test.tokens : 0,
    n_gen: test.test === "tg" ? test.tokens : 0,
    n_depth: 0,
    test_time: began.toISOString(),
    avg_ns: Math.round(mean(test.seconds) * 1e9),
    stddev_ns: Math.round(spread(test.seconds) * 1e9),
    avg_ts: test.mean,
    stddev_ts: test.deviation,
    samples_ns: test.seconds.map((seconds) => Math.round(seconds * 1e9)),
    samples_ts: [...test.rates],
  }));
  return JSON.stringify(rows, undefined, 2);
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

function spread(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}
