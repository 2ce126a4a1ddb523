/** A report of what is seen: one page of HTML that a person saves, or its head as Markdown on the clipboard. */
import { testName } from "../../../main/contract/benchText.ts";
import type { BenchRecord } from "../../../main/contract/views/bench.ts";
import type { Overview } from "../../../main/contract/views/model.ts";
import type { ReportedAnswer, ReportInput, ReportPage } from "../../../main/contract/views/report.ts";
import type { ProfileView, RunStats } from "../../../main/contract/views/run.ts";
import { current } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import { figureText, plural } from "../../ui/format.ts";
import { saveText } from "../../ui/saveText.ts";

/** What a person lets into a report: measurements at first, own words only where they are ticked. */
export interface ReportChoice {
  /** Names of the benchmarks and answers that are in it; null: the newest few. */
  readonly benches: readonly string[] | null;
  readonly answers: readonly string[] | null;
  readonly profile: boolean;
  readonly conversation: boolean;
  readonly notes: boolean;
  readonly paths: boolean;
}

export type TickedPart = "profile" | "conversation" | "notes" | "paths";
export type ListedPart = "benches" | "answers";

/** One result that a person may let into a report, or leave out. */
export interface Listed {
  readonly name: string;
  readonly says: string;
  readonly chosen: boolean;
}

export interface ReportSlice {
  readonly reportChoice: ReportChoice;
  readonly reportBusy: boolean;
  readonly setReport: (part: Partial<ReportChoice>) => void;
  /** As it is ticked now; null where it could not be made. */
  readonly makeReport: () => Promise<ReportPage | null>;
  /** Whether it was saved. */
  readonly saveReport: () => Promise<boolean>;
  readonly copyReport: () => Promise<void>;
}

interface ReportedBench {
  /** The history has none: 0 or less. */
  readonly id: number;
  readonly at: number;
  readonly result: BenchRecord;
}

interface ReportedRun {
  readonly id: number;
  readonly mode: string;
  readonly device: string;
  /** null: of the open model. */
  readonly model: string | null;
  readonly stats: RunStats | null;
  readonly truth: string | null;
}

/** Names of reports: a number in this session, else the day. */
const benchName = ({ id, at }: ReportedBench): string =>
  id > 0 ? `Bench ${id}` : `Bench of ${new Date(at).toISOString().slice(0, 16).replace("T", " ")}`;

/** What other features have for it. */
export interface Reported {
  readonly benchResults: readonly ReportedBench[];
  /** Of the open model, before this session. */
  readonly benchEarlier: readonly ReportedBench[];
  /** Newest first. */
  readonly runHistory: readonly ReportedRun[];
  readonly loadBenchHistory: () => Promise<void>;
  readonly turns: readonly { readonly prompt: string; readonly answer: { readonly text: string } }[];
  readonly notes: string;
}

const INITIAL: ReportChoice = {
  benches: null,
  answers: null,
  profile: true,
  conversation: false,
  notes: false,
  paths: false,
};
/** Results of one kind that are listed, and those that are in a report at first. */
const MOST_LISTED = 20;
const FIRST_CHOSEN = 5;
const MOST_TURNS = 200;
const MOST_OPS = 12;

type Results = Pick<Reported, "benchResults" | "benchEarlier" | "runHistory">;

const benchesOf = ({ benchResults, benchEarlier }: Results): readonly ReportedBench[] =>
  [...benchResults, ...benchEarlier].slice(0, MOST_LISTED);

/** Answers whose speed was measured here: a simulated one says nothing. */
const answersOf = ({ runHistory }: Results): readonly (ReportedRun & { readonly stats: RunStats })[] =>
  runHistory
    .flatMap((run) =>
      run.stats === null || run.stats.rate === null || run.truth !== "measured" ? [] : [{ ...run, stats: run.stats }],
    )
    .slice(0, MOST_LISTED);

const answerName = ({ id, mode }: ReportedRun): string => `${mode === "chat" ? "Chat" : "Text"} ${id}`;

const isChosen = (chosen: readonly string[] | null, name: string, at: number): boolean =>
  chosen === null ? at < FIRST_CHOSEN : chosen.includes(name);

/** The results of one kind, newest first, with what each says and whether it is in the report. */
export function listed(part: ListedPart, results: Results, { benches, answers }: ReportChoice): readonly Listed[] {
  if (part === "benches")
    return benchesOf(results).map((bench, at) => ({
      name: benchName(bench),
      says: bench.result.tests.map((test) => `${testName(test)} ${figureText(test.rate)}`).join(", "),
      chosen: isChosen(benches, benchName(bench), at),
    }));
  return answersOf(results).map((run, at) => ({
    name: answerName(run),
    says: `${run.stats.rate === null ? "" : figureText(run.stats.rate)}, ${plural(run.stats.generated, "token")}`,
    chosen: isChosen(answers, answerName(run), at),
  }));
}

const namesOf = (list: readonly Listed[]): readonly string[] =>
  list.filter(({ chosen }) => chosen).map(({ name }) => name);

/** The names that are in the report once one of them was ticked or its tick was taken away. */
export function toggledName(list: readonly Listed[], name: string): readonly string[] {
  const before = namesOf(list);
  return before.includes(name) ? before.filter((each) => each !== name) : [...before, name];
}

export function createReportSlice({
  engine,
  set,
  get,
}: SliceTools<ReportSlice, SessionState & ReportSlice & Reported>): ReportSlice {
  const input = (choice: ReportChoice): ReportInput | null => {
    const { model, backend, target, phase, profiled, turns, notes } = get();
    const open = current(model);
    if (open === null || target === null) return null;
    return {
      ...{ model: open.model, subject: { backend, target }, phase, paths: choice.paths },
      ...resultsIn(get(), choice, open),
      profile: choice.profile && profiled !== null ? profileOf(profiled) : null,
      conversation: choice.conversation
        ? turns.slice(-MOST_TURNS).flatMap(({ prompt, answer }) => [
            { role: "Prompt", text: prompt },
            { role: "Answer", text: answer.text },
          ])
        : [],
      notes: choice.notes ? notes : "",
    };
  };
  const make = async (choice: ReportChoice): Promise<ReportPage | null> => {
    const asked = input(choice);
    if (asked === null || get().reportBusy) return null;
    set({ reportBusy: true });
    try {
      return await engine.call("report.make", asked);
    } catch (error) {
      get().notifyError("The report could not be made", error);
      return null;
    } finally {
      set({ reportBusy: false });
    }
  };
  return {
    reportChoice: INITIAL,
    reportBusy: false,
    setReport: (part) => set({ reportChoice: { ...get().reportChoice, ...part } }),
    makeReport: () => make(get().reportChoice),
    async saveReport() {
      const page = await get().makeReport();
      if (page === null) return false;
      saveText(page.name, page.html, "text/html");
      get().notify({
        ...{ level: "info", title: "Report saved", code: null, hint: null, details: null },
        text: `${page.name} is where downloads go.`,
      });
      return true;
    },
    async copyReport() {
      const page = await make({ ...INITIAL, benches: [], answers: [], profile: false });
      if (page === null) return;
      const copied = await navigator.clipboard.writeText(page.markdown).then(
        () => true,
        () => false,
      );
      const { notify } = get();
      if (copied)
        notify({ level: "info", title: "Report copied", code: null, text: "As Markdown.", hint: null, details: null });
      else
        notify({
          ...{ level: "warning", title: "The report was not copied", code: null },
          ...{ text: page.markdown, hint: "This page may not use the clipboard.", details: null },
        });
    },
  };
}

/** The benchmarks and answers that are ticked. */
function resultsIn(
  results: Results,
  choice: ReportChoice,
  open: Pick<Overview, "title" | "variant">,
): Pick<ReportInput, "benches" | "answers"> {
  const [benches, answers] = [
    new Set(namesOf(listed("benches", results, choice))),
    new Set(namesOf(listed("answers", results, choice))),
  ];
  const own = [open.title, open.variant].filter((word) => word !== null && word !== "").join(" ");
  return {
    benches: benchesOf(results).flatMap((bench) =>
      benches.has(benchName(bench)) ? [{ name: benchName(bench), record: bench.result }] : [],
    ),
    answers: answersOf(results).flatMap((run) =>
      answers.has(answerName(run)) ? [answerIn(run, run.model ?? own)] : [],
    ),
  };
}

function answerIn(run: ReportedRun & { readonly stats: RunStats }, model: string): ReportedAnswer {
  const { promptTokens, reusedTokens, promptRate, firstTokenSeconds, generated, rate } = run.stats;
  return {
    ...{ name: answerName(run), what: `${model} on ${run.device}`, promptTokens: promptTokens - reusedTokens },
    ...{ promptRate, firstToken: firstTokenSeconds, generated, rate },
  };
}

function profileOf({ sentence, device, machine, decode, prefill }: ProfileView): NonNullable<ReportInput["profile"]> {
  const phase = decode.rows.length > 0 ? decode : prefill;
  return {
    sentence,
    what: `${phase === decode ? "decode" : "prefill"}, on ${device}, ${machine}`,
    ops: [...phase.rows]
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, MOST_OPS)
      .map(({ op, seconds, share }) => ({ name: op, seconds, share })),
  };
}
