/** A benchmark as text for an issue, a table or a script: Markdown, CSV and JSON; the names of its tests and subjects. */
import type { BenchResult, BenchSubject, BenchTest } from "./views/bench.ts";
import { intervalName } from "./views/bench.ts";

/** "pp 512", "tg 128 @ d2048": as llama-bench names them. */
export const testName = ({ test, tokens, depth }: Pick<BenchTest, "test" | "tokens" | "depth">): string =>
  `${test} ${tokens}${depth === 0 ? "" : ` @ d${depth}`}`;

/** The same name in words: "Writing 32 tokens", "Reading 512 tokens behind 2048 others"; another name stays as it is. */
export function testWords(name: string): string {
  const [, test, tokens, depth] = /^(tg|pp) (\d+)(?: @ d(\d+))?$/u.exec(name) ?? [];
  if (test === undefined || tokens === undefined) return name;
  const behind = depth === undefined ? "" : ` behind ${depth} others`;
  return `${test === "tg" ? "Writing" : "Reading"} ${tokens} token${tokens === "1" ? "" : "s"}${behind}`;
}

/** By what sets it apart from the others: "mlx", "4 threads", "Qwen3 Q8_0, 4 threads". */
export function subjectName(subject: BenchSubject, all: readonly BenchSubject[]): string {
  const differs = (of: (each: BenchSubject) => string | number): boolean => new Set(all.map(of)).size > 1;
  const parts = [
    ...(differs(({ model }) => model) ? [subject.title] : []),
    ...(differs(({ device }) => device) ? [subject.device] : []),
    ...(differs(({ threads }) => threads) ? [threadsText(subject.threads)] : []),
  ];
  return parts.length === 0 ? subject.device : parts.join(", ");
}

const threadsText = (threads: number): string => `${threads} thread${threads === 1 ? "" : "s"}`;

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
/** A bar would break a table. */
const plain = (text: string): string => text.replaceAll("|", "/").replaceAll(/[\r\n]+/gu, " ");
const number = (value: number): string => (Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3));

export function benchMarkdown(result: BenchResult): string {
  const head = ["model", "device", "threads", "test", "t/s (median)", "interval", "first token", "repeats"];
  const rows = result.tests.map((test) => {
    const subject = result.subjects[test.subject];
    const { low, high } = test.rate;
    return row([
      plain(subject?.title ?? ""),
      subject?.device ?? "",
      subject?.threads ?? "",
      testName(test),
      number(test.rate.value),
      low === null || high === null ? "" : `${number(low)} – ${number(high)} (${intervalName(test.samples.length)})`,
      test.firstToken === null ? "" : `${number(test.firstToken.value * 1000)} ms`,
      test.samples.length,
    ]);
  });
  const remarks = [...result.red.map((each) => `Conditions: ${each}`), ...result.notes];
  return [
    plain(`${result.machine}, ${result.system}, rlx ${result.version}`),
    "",
    row(head),
    row(head.map(() => "---")),
    ...rows,
    ...(remarks.length === 0 ? [] : ["", ...remarks.map((each) => `- ${plain(each)}`)]),
  ].join("\n");
}

/** llama-bench's columns, every value in quotation marks as it writes them. */
export function benchCsv({ json }: Pick<BenchResult, "json">): string {
  const rows = JSON.parse(json) as readonly { readonly [column: string]: unknown }[];
  const columns = Object.keys(rows[0] ?? {}).filter((name) => !Array.isArray(rows[0]?.[name]));
  const quoted = (value: unknown): string => `"${String(value).replaceAll('"', '""')}"`;
  return [columns.join(","), ...rows.map((each) => columns.map((name) => quoted(each[name])).join(","))].join("\n");
}

/** Everything that was measured, with the time of each token. */
export function benchJson(result: BenchResult): string {
  const { kind: _, json: __, ...rest } = result;
  return JSON.stringify({ format: "rlx-bench", format_version: 1, ...rest }, undefined, 2);
}
