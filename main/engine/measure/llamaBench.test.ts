// llama-bench's rows: every field its readers know, and times in whole seconds, each test's own.
import { expect, it } from "vitest";
import type { BenchTest } from "../../runtime/bench.ts";
import type { LlamaBenchRow } from "./llamaBench.ts";
import { llamaBenchJson } from "./llamaBench.ts";

const test = (name: BenchTest["test"], began: string): BenchTest => ({
  test: name,
  began: new Date(began),
  tokens: 8,
  depth: 0,
  rates: [4],
  seconds: [2],
  drawn: [[2]],
  median: 4,
  interval: { low: 4, high: 4 },
  mean: 4,
  deviation: 0,
});

function rowsOf(tests: readonly BenchTest[], mapped = true): readonly { readonly [field: string]: unknown }[] {
  const description = { architecture: { kind: "unsupported" }, variant: "Q8_0", tensorBytes: 1, parameters: 1 };
  const model = { description, path: "m.gguf", argument: null } as unknown as LlamaBenchRow["model"];
  const json = llamaBenchJson(
    tests.map((each) => ({
      ...{ model, test: each, threads: 1, machine: "M", backends: "CPU", cacheType: "f16", chunk: 512, mapped },
    })),
  );
  return JSON.parse(json) as readonly { readonly [field: string]: unknown }[];
}

/** `test::get_fields` of llama-bench.cpp, and the two lists that its JSON printer adds. */
const SINCE_2026 =
  "build_commit build_number cpu_info gpu_info backends model_filename model_type model_size model_n_params n_batch n_ubatch " +
  "n_threads cpu_mask cpu_strict poll type_k type_v n_gpu_layers n_cpu_moe split_mode main_gpu no_kv_offload flash_attn devices " +
  "tensor_split tensor_buft_overrides load_mode embeddings no_op_offload no_host fit_target fit_min_ctx n_prompt n_gen n_depth " +
  "test_time avg_ns stddev_ns avg_ts stddev_ts samples_ns samples_ts";
/** What stood where `load_mode` stands now. */
const BEFORE = "use_mmap use_direct_io";

it("has every field of llama-bench, of the newest and of those before, and no other", () => {
  const [row = {}] = rowsOf([test("pp", "2026-01-02T03:04:05.678Z")]);
  expect(Object.keys(row).sort()).toEqual(`${SINCE_2026} ${BEFORE}`.split(" ").sort());
  // As numbers and words of newer ones: attention is chosen here, no device was named, no buffer kept off the host.
  expect(row).toMatchObject({ flash_attn: -1, devices: "auto", no_host: false });
});

it("says in both ways whether the weights are mapped", () => {
  const [mapped] = rowsOf([test("tg", "2026-01-02T03:04:05Z")], true);
  const [copied] = rowsOf([test("tg", "2026-01-02T03:04:05Z")], false);
  expect(mapped).toMatchObject({ use_mmap: true, load_mode: "mmap" });
  expect(copied).toMatchObject({ use_mmap: false, load_mode: "none" });
});

it("says of each test when it began, as llama-bench writes it", () => {
  expect(rowsOf([test("pp", "2026-01-02T03:04:05.678Z"), test("tg", "2026-01-02T03:04:59.999Z")])).toMatchObject([
    { n_prompt: 8, test_time: "2026-01-02T03:04:05Z" },
    { n_gen: 8, test_time: "2026-01-02T03:04:59Z" },
  ]);
});

it("says how many tokens the cache held before", () => {
  const began = "2026-01-02T03:04:05Z";
  expect(rowsOf([{ ...test("tg", began), depth: 2048 }, test("pp", began)])).toMatchObject([
    { n_depth: 2048 },
    { n_depth: 0 },
  ]);
});
