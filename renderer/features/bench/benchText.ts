/** Results and comparisons as text for an issue or a script: Markdown tables and JSON. */
import { intervalName } from "../../../main/contract/views/run.ts";
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

export function resultMarkdown(entry: BenchEntry): string {
  const head = ["test", "t/s (median)", "interval", "repeats"];
  return [
    where(entry),
    "",
    row(head),
    rule(head.length),
    ...entry.result.tests.map(({ test, tokens, rate, samples }) =>
      row([
        `${test}${tokens}`,
        plain(significant(rate.value)),
        rate.low === null || rate.high === null ? "" : interval(rate.low, rate.high, samples.length),
        samples.length,
      ]),
    ),
  ].join("\n");
}

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
    ...compareBench(left, right).map(({ test, left: a, right: b, ratio }) =>
      row([
        `${test}${a.tokens}`,
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
      tests: compareBench(left, right).map(({ test, left: a, right: b, ratio, sentence }) => ({
        test,
        tokens: a.tokens,
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
