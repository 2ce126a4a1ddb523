/** `rlx bench`: a matrix of tests in turn, as a table or in a form for other programs. */
import { cacheTypeGiven, precisionNamed } from "./precision.ts";
import { benchCsv, benchJson, benchMarkdown, subjectName, testName } from "../../contract/benchText.ts";
import { compareTests } from "../../contract/benchVerdict.ts";
import { readNumberList } from "../../contract/numberList.ts";
import { intervalName, LEAST_REPEATS } from "../../contract/views/bench.ts";
import type { BenchItem, BenchResult, BenchTest } from "../../contract/views/bench.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { counted } from "../../engine/words.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, namingDevices, openModel, unfinished, wholeNumber } from "./client.ts";
import type { Output } from "./output.ts";
import { benchText } from "./graphRuns.ts";
import { isGraphText } from "./graphText.ts";
import { figureText, phaseText } from "./output.ts";

export interface BenchOptions extends CommonOptions {
  readonly pp?: string;
  readonly tg?: string;
  readonly depth: string;
  readonly threads?: string;
  readonly device: string;
  readonly precision: string;
  readonly cacheType?: string;
  readonly also?: readonly string[];
  readonly repeats: string;
  readonly warmup: string;
  readonly seconds?: string;
  readonly decide?: string;
  readonly output?: string;
  readonly warn?: boolean;
}

const MOST_TOKENS = 1_048_576;
/** Rounds, and those of a measurement that a time bounds. */
const MOST_ROUNDS = 1000;
const MOST_TIMED_ROUNDS = 100;
/** What is measured by itself, and where a difference has to be told soon. */
const USUAL_TOKENS = { pp: "512", tg: "128" };
const DECIDING_TOKENS = { pp: "128", tg: "32" };

export async function bench(
  command: Command,
  choice: ModelChoice,
  other: string | undefined,
  options: BenchOptions,
): Promise<number> {
  if (isGraphText(choice.file)) {
    if (other !== undefined || options.decide !== undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] bench: got a graph in text with a second file or --decide", {
        hint: "Give it alone: --device cpu,mlx measures it on several devices in turn.",
      });
    return benchText(command, choice.file, options);
  }
  const usual = options.decide === undefined ? USUAL_TOKENS : DECIDING_TOKENS;
  const timed = options.seconds !== undefined || options.decide !== undefined;
  if (options.seconds !== undefined && options.decide !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] got --seconds and --decide, expected one of them");
  const form = formOf(options.output);
  const input = {
    promptTokens: numbers("pp", options.pp ?? usual.pp, 0, MOST_TOKENS),
    generateTokens: numbers("tg", options.tg ?? usual.tg, 0, MOST_TOKENS),
    depth: numbers("depth", options.depth, 0, MOST_TOKENS),
    threads: options.threads === undefined ? null : numbers("threads", options.threads, 1, 1024),
    precision: precisionNamed(options.precision),
    cacheType: cacheTypeGiven(options.cacheType),
    repeats: timed ? MOST_TIMED_ROUNDS : wholeNumber("repeats", options.repeats, 1, MOST_ROUNDS),
    warmup: wholeNumber("warmup", options.warmup, 0, 100),
    seconds: options.seconds === undefined ? null : wholeNumber("seconds", options.seconds, 1, 86_400),
    decideWithin: options.decide === undefined ? null : wholeNumber("decide", options.decide, 1, 3600),
    conditions: options.warn === true ? ("warn" as const) : ("wait" as const),
  };
  if ([...input.promptTokens, ...input.generateTokens].every((tokens) => tokens === 0))
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --pp and --tg: got 0 and 0, expected something to measure");
  const device: string[] = [];
  for (const id of options.device.split(",")) device.push(await deviceOption(command, id.trim()));
  const { model } = await openModel(command, choice);
  const others: string[] = [];
  for (const file of [...(other === undefined ? [] : [other]), ...(options.also ?? [])])
    others.push((await openModel(command, { file, offer: undefined, adapters: choice.adapters ?? [] })).model);
  const items = command.client.stream("bench.run", { ...input, device, model, others }, { signal: command.signal });
  const live = new Live(command.output);
  try {
    for await (const item of namingDevices(command, items, device)) {
      if (item.kind !== "done") live.take(item);
      else {
        print(command.output, item, form);
        return 0;
      }
    }
  } catch (error) {
    live.printMeasured();
    throw error;
  }
  live.printMeasured();
  throw unfinished(command.signal);
}

const FORMS = ["md", "csv", "json", "llama"] as const;
type Form = (typeof FORMS)[number] | "table";

function formOf(text: string | undefined): Form {
  if (text === undefined) return "table";
  const found = FORMS.find((form) => form === text);
  if (found === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --output: got ${text}, expected one of ${FORMS.join(", ")}`);
  return found;
}

function numbers(name: string, text: string, least: number, most: number): number[] {
  const list = readNumberList(text, least, most);
  if (list.ok) return [...list.values];
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --${name}: ${list.problem}`);
}

/** Progress while it goes on, and what a benchmark that is stopped had measured. */
class Live {
  readonly #output: Output;
  #plan: Extract<BenchItem, { kind: "plan" }> | undefined;
  readonly #rates = new Map<number, number[]>();

  constructor(output: Output) {
    this.#output = output;
  }

  take(item: Exclude<BenchItem, { kind: "done" }>): void {
    if (item.kind === "plan") this.#plan = item;
    else if (item.kind === "phase") this.#output.progress(phaseText(item), item.name);
    else {
      if (!item.warmup) {
        const rates = this.#rates.get(item.cell) ?? [];
        rates[item.index] = item.rate;
        this.#rates.set(item.cell, rates);
      }
      const cell = this.#plan?.cells[item.cell];
      const name = cell === undefined ? item.test : testName(cell);
      const step = item.warmup ? "warm-up" : String(item.index + 1);
      this.#output.progress(
        `${item.done} of ${item.total}, ${leftText(item.secondsLeft)}: ${name}, ${step}: ${item.rate.toFixed(1)} tok/s`,
        // Where lines are not rewritten: ten of them.
        `${item.warmup ? "warm-up" : "round"} ${Math.floor((10 * item.done) / item.total)}`,
      );
    }
  }

  printMeasured(): void {
    const { cells = [], subjects = [] } = this.#plan ?? {};
    const rows = cells.flatMap((cell, at) => {
      const rates = [...(this.#rates.get(at) ?? [])].sort((a, b) => a - b);
      const subject = subjects[cell.subject];
      const middle = rates[rates.length >> 1];
      if (middle === undefined || subject === undefined) return [];
      return [[subjectName(subject, subjects), testName(cell), `${middle.toFixed(1)} tok/s`, String(rates.length)]];
    });
    if (rows.length === 0) return;
    this.#output.line("Stopped. Measured until then:");
    this.#output.table(["on", "test", "median", "runs"], rows, { right: [2, 3] });
  }
}

const leftText = (seconds: number): string =>
  seconds < 90 ? `about ${Math.ceil(seconds)} s left` : `about ${Math.ceil(seconds / 60)} min left`;

function print(output: Output, result: BenchResult, form: Form): void {
  // llama-bench's own array, so that existing scripts can read it.
  output.value(form === "json" ? JSON.parse(benchJson(result)) : JSON.parse(result.json));
  if (form === "table") printTable(output, result);
  else output.line({ md: benchMarkdown, csv: benchCsv, json: benchJson, llama: () => result.json }[form](result));
}

function printTable(output: Output, result: BenchResult): void {
  const { subjects, tests } = result;
  for (const subject of subjects)
    output.line(
      `${subject.title}, ${result.machine}, ${counted(subject.threads, "thread")}, on ${subject.device}, ${subject.kernels}`,
    );
  const withEnergy = tests.some(({ joulesPerToken }) => joulesPerToken !== null);
  const rows = tests.map((test) => [
    ...(subjects.length > 1 ? [subjectOf(result, test)] : []),
    testName(test),
    figureText({ ...test.rate, low: null, high: null }),
    figureText(test.rate),
    test.firstToken === null ? "" : figureText({ ...test.firstToken, low: null, high: null }),
    ...(withEnergy
      ? [test.joulesPerToken === null ? "" : figureText({ ...test.joulesPerToken, low: null, high: null })]
      : []),
    String(test.samples.length),
  ]);
  const repeats = Math.min(...tests.map(({ samples }) => samples.length));
  const lead = subjects.length > 1 ? ["on"] : [];
  const header = [
    ...lead,
    "test",
    "median",
    intervalName(repeats),
    "first token",
    ...(withEnergy ? ["a token"] : []),
    "runs",
  ];
  output.table(header, rows, { right: header.map((_, at) => at).slice(lead.length + 1) });
  for (const line of verdicts(result)) output.line(line);
  if (subjects.length === 1) for (const each of result.red) output.line(`! Conditions: ${each}`);
  for (const { test, tokens, depth, sentence } of result.knees)
    output.line(`${testName({ test, tokens, depth })}: ${sentence}`);
  if (result.energy.idle !== null) output.line(result.energy.sentence);
  if (result.stopped !== null) output.line(`! ${result.stopped}`);
  for (const note of result.notes) output.line(`! ${note}`);
}

const subjectOf = ({ subjects }: BenchResult, { subject }: BenchTest): string => {
  const found = subjects[subject];
  return found === undefined ? "" : subjectName(found, subjects);
};

/** Each subject against the first, test by test; why not, once. A sweep of threads has its knee instead. */
function verdicts(result: BenchResult): readonly string[] {
  const { tests, subjects, red, knees } = result;
  // Of a sweep the knees say it.
  if (subjects.length < 2 || knees.length > 0) return [];
  if (red.length > 0) return [`Not comparable because of the conditions: ${red.join("; ")}.`];
  if (tests.some(({ samples }) => samples.length < LEAST_REPEATS))
    return [`Not compared: that takes ${LEAST_REPEATS} repeats or more.`];
  return tests.flatMap((test) => {
    const base = tests.find((each) => each.subject === 0 && testName(each) === testName(test));
    if (base === undefined || base === test) return [];
    const { ratio, sentence } = compareTests({ result, test: base }, { result, test });
    const range = ratio === null ? "" : ` (${ratio.low.toPrecision(3)}–${ratio.high.toPrecision(3)} ×)`;
    return [`${testName(test)}, ${subjectOf(result, test)} after ${subjectOf(result, base)}: ${sentence}${range}`];
  });
}
