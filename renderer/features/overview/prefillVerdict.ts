/**
 * The verdict in prefill. The engine's own counts shares and hops of one token in decode; a chunk of the prompt has a route and a
 * cost of its own, which give the line, the shares and the hops here. Memory and speeds are the same in both phases.
 */
import { isCancelled } from "../../session/async.ts";
import type { Figure, SumRow } from "../../../main/contract/views/common.ts";
import type { CostView, Subject, Verdict, VerdictRow } from "../../../main/contract/views/cost.ts";
import type { RouteView } from "../../../main/contract/views/route.ts";

export interface PrefillQuestions {
  readonly costOf: (subject: Subject) => Promise<CostView>;
  readonly routeOf: (subject: Subject) => Promise<Pick<RouteView, "devices" | "hops">>;
}

export interface PrefillVerdict {
  readonly verdict: Verdict;
  /** Of the subject; null where there is no prediction for it, and for graphs without tokens. */
  readonly chunk: CostView | null;
}

export async function inPrefill(verdict: Verdict, questions: PrefillQuestions): Promise<PrefillVerdict> {
  const own = await rowInPrefill(verdict.own, questions);
  const rows = await Promise.all(verdict.rows.map((row) => rowInPrefill(row, questions)));
  if (!own.ok) return { verdict: { ...verdict, sentence: own.sentence, own, rows }, chunk: null };
  if (own.speed.prompt === null) return { verdict, chunk: null };
  const chunk = await questions.costOf(own.subject);
  return { verdict: { ...verdict, sentence: chunk.sentence, own, rows }, chunk };
}

async function rowInPrefill(row: VerdictRow, { routeOf }: PrefillQuestions): Promise<VerdictRow> {
  if (!row.ok || row.speed.prompt === null) return row;
  try {
    const { devices, hops } = await routeOf(row.subject);
    const shareOf = (of: "ane" | "gpu"): number => devices.find(({ device }) => device === of)?.workShare ?? 0;
    return {
      ...row,
      // Null says that the device is out of the question, in either phase.
      aneShare: row.aneShare === null ? null : shareOf("ane"),
      gpuShare: row.gpuShare === null ? null : shareOf("gpu"),
      hops: hops.length,
    };
  } catch (error) {
    if (isCancelled(error)) throw error;
    const sentence = `Its prefill could not be predicted: ${error instanceof Error ? error.message : String(error)}`;
    return { ok: false, subject: row.subject, title: row.title, sentence };
  }
}

const NAMES = { ane: "Neural Engine", gpu: "GPU", cpu: "CPU", host: "host code", none: "no device" } as const;

/** The parts of a chunk's time: they add up to its step. */
export function chunkRows({ devices, hops, caches }: CostView): readonly SumRow[] {
  const rest = (label: string, value: Figure): SumRow[] =>
    value.value === 0 ? [] : [{ label, arithmetic: null, value }];
  return [
    ...devices.map(({ device, seconds }) => ({
      label: `On the ${NAMES[device]}, with starting it`,
      arithmetic: null,
      value: seconds,
    })),
    ...rest("Handing over between devices", hops),
    ...rest("Copying caches", caches),
  ];
}
