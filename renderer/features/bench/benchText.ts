/** Comparisons as text for an issue or a script: a Markdown table and JSON. */
import { benchMarkdown, testName } from "../../../main/contract/benchText.ts";
import { intervalName } from "../../../main/contract/views/bench.ts";
import { intervalText, significant } from "../../ui/format.ts";
import { benchDifferences, compareBench, notComparable } from "./compare.ts";
import type { BenchEntry } from "./slice.ts";

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
const rule = (columns: number): string => row(Array.from({ length: columns }, () => "---"));
/** Thin spaces and bars would break a table elsewhere. */
const plain = (text: string): string => text.replaceAll("\u202f", " ").replaceAll("|", "/");
const interval = (low: number, high: number, repeats: number): string =>
  plain(`${intervalText(low, high)} (${intervalName(repeats)})`);
const where = ({ model, result }: BenchEntry): string =>
  plain(`${model}, ${result.machine}, ${result.threads} threads, ${result.kernels}`);

export const resultMarkdown = ({ result }: BenchEntry): string => benchMarkdown(result);

export function comparisonMarkdown(left: BenchEntry, right: BenchEntry): string {
  const head = ["test", "first, t/s", "second, t/s", "second / first", "interval"];
  const differences = benchDifferences(left, right);
  const why = notComparable(left, right);
  return [
    `First: ${where(left)}`,
    `Second: ${where(right)}`,
    ...(differences.length === 0 ? [] : [plain(`Different: ${differences.join(", ")}`)]),
    ...(why === null ? [] : [plain(why)]),
    "",
    row(head),
    rule(head.length),
    ...compareBench(left, right).map(({ left: a, right: b, ratio }) =>
      row([
        testName(a),
        plain(significant(a.rate.value)),
        plain(significant(b.rate.value)),
        ratio === null ? "" : significant(ratio.value),
        ratio === null ? "" : interval(ratio.low, ratio.high, Math.min(a.samples.length, b.samples.length)),
      ]),
    ),
  ].join("\n");
}

export function comparisonJson(left: BenchEntry, right: BenchEntry): string {
  return JSON.stringify(
    {
      format: "rlx-bench-comparison",
      version: 1,
      first: where(left),
      second: where(right),
      different: benchDifferences(left, right),
      tests: compareBench(left, right).map(({ left: a, right: b, ratio, sentence }) => ({
        ...{ test: a.test, tokens: a.tokens, depth: a.depth },
        left: a.samples,
        right: b.samples,
        ratio: ratio?.value ?? null,
        interval: ratio === null ? null : [ratio.low, ratio.high],
        sentence,
      })),
    },
    null,
    2,
  );
}
