/**
 * The ledger of compiles: each trial of a compiled model leaves one line in the history "compile", however it ended. What the lines
 * say together is in main/engine/models/compileLedger.ts.
 */
import { readFailure } from "../../../backends/coreml/failures.ts";
import type { CompileRecord, CompileSystem, VerifyRecord } from "../../../contract/views/compiles.ts";
import { COMPILE_HISTORY, VERIFY_HISTORY, verifyRecord } from "../../../contract/views/compiles.ts";
import type { Json } from "../../../diagnostics/errors.ts";
import { toWireError } from "../../../diagnostics/errors.ts";
import type { LedgerEntry } from "../../../engine/models/compileLedger.ts";
import { ledgerOf, sameSystem } from "../../../engine/models/compileLedger.ts";
import type { Histories } from "../../../engine/services.ts";
import type { CoremlBridge, CoremlMachine, CoremlPlan, CoremlUnit } from "./native.ts";
import type { TrialBook, TrialKey, TrialReport, TrialRequest } from "./trial.ts";
import { tryOnce } from "./trial.ts";

/** Newest lines that are read. */
const MOST_LINES = 5000;
const MOST_MESSAGE = 4000;

/** The model that a package was made of. */
export interface LedgerSubject {
  readonly title: string;
  readonly identity: string;
  readonly path: string | null;
  /** What the package is for: shapes, weights, options. */
  readonly target: string;
}

/** The system in verdicts: an update that keeps the version changes the build, and Core ML with it. */
export const systemName = ({ os, osBuild }: Pick<CoremlMachine, "os" | "osBuild">): string =>
  osBuild === "" ? os : `${os} ${osBuild}`;

export const systemOf = ({ chip, os, osBuild }: CoremlMachine): CompileSystem => ({ chip, os, osBuild });

export class CompileLedger {
  readonly #histories: Histories;

  constructor(histories: Histories) {
    this.#histories = histories;
  }

  /** Newest first. */
  async read(): Promise<{ readonly entries: readonly LedgerEntry[]; readonly damaged: number }> {
    const { entries, damaged } = await this.#histories.list(COMPILE_HISTORY, { limit: MOST_LINES, identity: null });
    return { entries: ledgerOf(entries), damaged };
  }

  append({ title, identity, path }: LedgerSubject, record: CompileRecord): Promise<void> {
    return this.#histories.append(COMPILE_HISTORY, {
      at: Date.now(),
      model: { title, identity, path },
      value: JSON.parse(JSON.stringify(record)) as Json,
    });
  }

  async appendAnswers(record: VerifyRecord): Promise<void> {
    const model = { title: "This Mac", identity: "this-mac", path: null };
    await this.#histories.append(VERIFY_HISTORY, {
      at: Date.now(),
      model,
      value: JSON.parse(JSON.stringify(record)) as Json,
    });
  }

  /** The last answers of another system on this chip. */
  async answersBefore(now: CompileSystem): Promise<VerifyRecord | undefined> {
    const { entries } = await this.#histories.list(VERIFY_HISTORY, { limit: 200, identity: null });
    return entries
      .flatMap(({ value }) => {
        const read = verifyRecord.safeParse(value);
        return read.success ? [read.data] : [];
      })
      .find((record) => record.chip === now.chip && !sameSystem(record, now));
  }
}

export interface RecordedTrial {
  readonly book: TrialBook;
  readonly ledger: CompileLedger;
  readonly bridge: CoremlBridge;
  readonly machine: CoremlMachine;
  readonly key: TrialKey;
  readonly request: TrialRequest;
  readonly subject: LedgerSubject;
  readonly packageBytes: number | null;
  readonly why: CompileRecord["why"];
}

/** Tries a model whose verdict is not known, and leaves a line. Undefined: its verdict is known, and it is safe. */
export async function tryRecorded(trial: RecordedTrial): Promise<CompileRecord | undefined> {
  const { book, key, request, ledger, subject } = trial;
  const ended: TrialReport[] = [];
  try {
    await tryOnce(book, key, { ...request, onEnd: (made) => void ended.push(made) });
  } catch (error) {
    const [report] = ended;
    if (report !== undefined) await ledger.append(subject, await recordOf(trial, report, error));
    throw error;
  }
  const [report] = ended;
  if (report === undefined) return undefined;
  const record = await recordOf(trial, report, undefined);
  await ledger.append(subject, record);
  return record;
}

async function recordOf(trial: RecordedTrial, report: TrialReport, error: unknown): Promise<CompileRecord> {
  const { key, machine, bridge, subject, packageBytes, why } = trial;
  const wire = error === undefined ? undefined : toWireError(error);
  const message = wire === undefined ? null : wire.message.slice(0, MOST_MESSAGE);
  const plan = wire === undefined ? await planShares(trial) : null;
  return {
    version: 1,
    why,
    truth: bridge.truth,
    content: key.model,
    function: key.function,
    units: key.units,
    target: subject.target.slice(0, 500),
    packageBytes,
    seconds: report.seconds,
    stages: report.stages.map(({ stage, seconds }) => ({ stage, seconds })),
    result: resultOf(wire?.code),
    stage: wire === undefined ? null : (report.stages.at(-1)?.stage ?? null),
    code: wire?.code ?? null,
    message,
    failure: readFailure(message ?? "", report.said) ?? null,
    plan,
    ...systemOf(machine),
  };
}

function resultOf(code: string | undefined): CompileRecord["result"] {
  if (code === undefined) return "ok";
  if (code === "CANCELLED") return "cancelled";
  return code === "COREML_CRASHED" ? "killed" : "failed";
}

/** What the system plans for the model that was just tried; null where it tells no plan. */
async function planShares({ bridge, request, key }: RecordedTrial): Promise<CompileRecord["plan"]> {
  try {
    const chosen = key.function === "" ? {} : { function: key.function };
    return sharesOf(await bridge.plan(request.compiled, { units: key.units, ...chosen }, request.signal));
  } catch {
    // Older systems have no plans, and a plan that fails is no fault of the model.
    return null;
  }
}

/** By the plan's costs; null where it gives none. */
export function sharesOf(plan: CoremlPlan): CompileRecord["plan"] {
  const shares = { ane: 0, gpu: 0, cpu: 0 };
  let total = 0;
  for (const { preferred, cost } of plan.ops)
    if (preferred !== "" && cost > 0) {
      shares[preferred] += cost;
      total += cost;
    }
  if (total === 0) return null;
  return { ane: shares.ane / total, gpu: shares.gpu / total, cpu: shares.cpu / total };
}

/** Where the same model is looked for. */
export const trialKeyOf = (
  content: string,
  machine: Pick<CoremlMachine, "os" | "osBuild" | "chip">,
  units: CoremlUnit,
  name: string,
): TrialKey => ({ model: content, os: systemName(machine), chip: machine.chip, units, function: name });
