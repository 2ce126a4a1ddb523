/** How fast a model would be, on the target and on the others: the line and the table of `rlx inspect` and `rlx route`. */
import type { CacheType, SumRow } from "../../contract/views/common.ts";
import type { SpeedView, Subject, Verdict, VerdictRow } from "../../contract/views/cost.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command } from "./client.ts";
import { figureText } from "./output.ts";

/** Null where none can be predicted, which the route explains. */
export async function verdictOn(
  { client, output, signal }: Command,
  model: string,
  subject: Subject,
  rows: "own" | "all",
  cacheType: CacheType | null = null,
): Promise<Verdict | null> {
  output.progress("Predicting how fast it is");
  try {
    return await client.call(
      "verdict.get",
      { model, subject, rows, ...(cacheType !== null && { cacheType }) },
      { signal },
    );
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code === "CANCELLED" || error.code.startsWith("BUG_")) throw error;
    return null;
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

/** A graph without a model has one run, and neither tokens nor a prompt. */
export function printVerdict({ output }: Command, verdict: Verdict, isAlone: boolean): void {
  output.line(verdict.sentence);
  if (verdict.rows.length === 0) return;
  output.line();
  const first = verdict.rows.find((row) => row.ok)?.speed.promptTokens;
  const speeds = isAlone ? ["a run"] : ["decode", `first token${first === undefined ? "" : ` of ${first}`}`];
  const devices = ["ANE", "GPU", "hops"];
  const heads = ["runs on", ...speeds, ...(isAlone ? devices : ["memory", ...devices, "fits"])];
  output.table(
    heads,
    verdict.rows.map((row) =>
      row.ok ? cellsOf(row, isAlone) : [`${row.title}: ${row.sentence}`, ...heads.slice(1).map(() => "–")],
    ),
    { right: heads.flatMap((head, i) => (i === 0 || head === "fits" ? [] : [i])), yields: 0 },
  );
}

function cellsOf(
  { title, speed, fit, aneShare, gpuShare, hops }: VerdictRow & { ok: true },
  isAlone: boolean,
): string[] {
  const decode = speed.generate === null ? `${figureText(speed.token)} a token` : figureText(speed.generate);
  const prompt = speed.prompt === null ? "–" : figureText(speed.prompt);
  const devices = [
    aneShare === null ? "–" : percent(aneShare),
    gpuShare === null ? "–" : percent(gpuShare),
    String(hops),
  ];
  // A graph has no memory that is forecast.
  if (isAlone) return [title, figureText(speed.token), ...devices];
  return [
    ...[title, decode, prompt],
    fit === null ? "–" : figureText(fit.total),
    ...devices,
    fit === null ? "–" : fit.verdict === "fits" ? "yes" : fit.verdict === "tight" ? "just" : "no",
  ];
}

/** The parts of a token's or a run's time, which add up to it, and the prompt's. */
export function printSpeed(command: Command, { own }: Verdict, isAlone: boolean): void {
  if (!own.ok) return;
  const { speed, title } = own;
  const { output } = command;
  output.line();
  const what = isAlone ? figureText(speed.token) : speedText(speed);
  output.line(`How fast? (${speed.machine}, ${title}) ${what} (predicted)`);
  printSum(command, [...speed.rows, { label: "together", arithmetic: null, value: speed.token }, ...speed.promptRows]);
  output.line(`  ${speed.sentence}`);
}

const speedText = ({ generate, prompt, promptTokens }: SpeedView): string =>
  [
    `decode ${generate === null ? "not forecast" : figureText(generate)}`,
    ...(prompt === null ? [] : [`prefill of ${promptTokens} tokens in ${figureText(prompt)}`]),
  ].join(", ");

/** Width of the longest figure, "~6.26 ms – 12.5 ms". */
export const FIGURE_WIDTH = 18;

export const printSum = ({ output }: Command, rows: readonly SumRow[]): void => {
  for (const { value, label, arithmetic } of rows)
    output.line(
      `  ${figureText(value).padStart(FIGURE_WIDTH)}  ${label}${arithmetic === null ? "" : `: ${arithmetic}`}`,
    );
};
