/** A report of what is seen: one page of HTML that a person saves, or its head as Markdown on the clipboard. */
import type { BenchRecord } from "../../../main/contract/views/bench.ts";
import type { ReportInput, ReportPage } from "../../../main/contract/views/report.ts";
import type { ProfileView } from "../../../main/contract/views/run.ts";
import { current } from "../../session/async.ts";
import type { SessionState } from "../../session/sessionSlice.ts";
import type { SliceTools } from "../../session/slice.ts";
import { saveText } from "../../ui/saveText.ts";

/** What a person lets into a report: measurements at first, own words only where they are ticked. */
export interface ReportChoice {
  readonly benches: boolean;
  readonly profile: boolean;
  readonly conversation: boolean;
  readonly notes: boolean;
  readonly paths: boolean;
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

/** Names of reports: a number in this session, else the day. */
const benchName = ({ id, at }: ReportedBench): string =>
  id > 0 ? `Bench ${id}` : `Bench of ${new Date(at).toISOString().slice(0, 16).replace("T", " ")}`;

/** What other features have for it. */
export interface Reported {
  readonly benchResults: readonly ReportedBench[];
  /** Of the open model, before this session. */
  readonly benchEarlier: readonly ReportedBench[];
  readonly loadBenchHistory: () => Promise<void>;
  readonly turns: readonly { readonly prompt: string; readonly answer: { readonly text: string } }[];
  readonly notes: string;
}

const INITIAL: ReportChoice = { benches: true, profile: true, conversation: false, notes: false, paths: false };
const MOST_BENCHES = 5;
const MOST_TURNS = 200;
const MOST_OPS = 12;

export function createReportSlice({
  engine,
  set,
  get,
}: SliceTools<ReportSlice, SessionState & ReportSlice & Reported>): ReportSlice {
  const input = (choice: ReportChoice): ReportInput | null => {
    const { model, backend, target, phase, benchResults, benchEarlier, profiled, turns, notes } = get();
    const open = current(model);
    if (open === null || target === null) return null;
    return {
      ...{ model: open.model, subject: { backend, target }, phase, paths: choice.paths },
      benches: choice.benches
        ? [...benchResults, ...benchEarlier]
            .slice(0, MOST_BENCHES)
            .map((bench) => ({ name: benchName(bench), record: bench.result }))
        : [],
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
      const page = await make({ ...INITIAL, benches: false, profile: false });
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
