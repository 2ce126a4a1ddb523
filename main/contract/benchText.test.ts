// Exports: names as llama-bench gives them, a table for people, columns for scripts.
import { expect, it } from "vitest";
import { benchCsv, subjectName, testName, testWords } from "./benchText.ts";
import type { BenchSubject } from "./views/bench.ts";

const subject = (part: Partial<BenchSubject>): BenchSubject => ({
  ...{ model: "m1", title: "A Q8_0", device: "cpu", threads: 2, kernels: "", truth: "measured" },
  ...part,
});

it("names tests and subjects by what sets them apart", () => {
  expect(testName({ test: "pp", tokens: 512, depth: 0 })).toBe("pp 512");
  expect(testName({ test: "tg", tokens: 128, depth: 2048 })).toBe("tg 128 @ d2048");
  expect(testWords("pp 512")).toBe("Reading 512 tokens");
  expect(testWords("tg 128 @ d2048")).toBe("Writing 128 tokens behind 2048 others");
  expect(testWords("tg many")).toBe("tg many");
  const one = subject({});
  expect(subjectName(one, [one])).toBe("cpu");
  expect(subjectName(one, [one, subject({ threads: 1 })])).toBe("2 threads");
  const other = subject({ model: "m2", title: "B Q4_K", device: "mlx", threads: 1 });
  expect(subjectName(other, [one, other])).toBe("B Q4_K, mlx, 1 thread");
});

it("writes llama-bench's columns without its lists, each value in quotation marks", () => {
  const rows = [
    { model_filename: 'a "b".gguf', n_prompt: 8, use_mmap: true, samples_ns: [1], samples_ts: [2] },
    { model_filename: "c.gguf", n_prompt: 0, use_mmap: false, samples_ns: [1], samples_ts: [2] },
  ];
  expect(benchCsv({ json: JSON.stringify(rows) })).toBe(
    'model_filename,n_prompt,use_mmap\n"a ""b"".gguf","8","true"\n"c.gguf","0","false"',
  );
});
