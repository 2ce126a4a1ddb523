/** The ledger of compiles as the engine asks for it: what is known of this system, trying a package once, verifying after an update. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ShapeFlexibility } from "../../../backends/coreml/flexible.ts";
import { readFailure } from "../../../backends/coreml/failures.ts";
import type { PlanTarget } from "../../../backends/coreml/plan/target.ts";
import { targetTitle } from "../../../backends/coreml/plan/target.ts";
import type { CompileChange, CompileRecord } from "../../../contract/views/compiles.ts";
import { identityOf } from "../../../contract/views/session.ts";
import { toWireError } from "../../../diagnostics/errors.ts";
import type {
  CompileKeeper,
  PieceRequest,
  TriedPiece,
  VerifiedAgain,
  VerifyAgainRequest,
} from "../../../engine/devices.ts";
import type { LedgerEntry } from "../../../engine/models/compileLedger.ts";
import { changedAnswers, changesOf, sameSystem } from "../../../engine/models/compileLedger.ts";
import type { OpenModel } from "../../../engine/models/openModel.ts";
import type { CoremlAccess } from "./device.ts";
import { coremlMissing } from "./device.ts";
import type { LedgerSubject } from "./ledger.ts";
import { systemOf, trialKeyOf, tryRecorded } from "./ledger.ts";
import { modelsIn } from "./modelFolder.ts";
import type { TrialReport } from "./trial.ts";
import { keyText, runTrial, TRIAL_SENTENCES } from "./trial.ts";
import { verify } from "./verify.ts";

/** What lines of the ledger name a model by. */
export function subjectOf(model: OpenModel): Omit<LedgerSubject, "target"> {
  const { headerHash, byteLength: bytes } = model.requireFile("run");
  const { title, variant } = model.description;
  return { title: `${title} ${variant}`, identity: identityOf(title, { headerHash, bytes }), path: model.path };
}

/** Shapes, weights and options of a package, which has functions for both phases. */
export const targetWords = (target: PlanTarget, flexibility: ShapeFlexibility): string =>
  `${targetTitle(target).replace(/ · (?:decode|prefill)\b/u, "")}${flexibility === "fixed" ? "" : ` · ${flexibility} shapes`}`;

export function compileKeeper(access: CoremlAccess): CompileKeeper {
  return {
    missing: () => coremlMissing(access),
    system() {
      if (coremlMissing(access) !== undefined) return null;
      const bridge = access.bridge();
      return { ...systemOf(bridge.machine()), truth: bridge.truth };
    },
    async facts() {
      const [{ entries, damaged }, models, verdicts] = await Promise.all([
        access.ledger.read(),
        modelsIn(access.models.folder),
        access.book.unsafe(),
      ]);
      const machine = coremlMissing(access) === undefined ? access.bridge().machine() : undefined;
      return {
        entries,
        damaged,
        kept: new Set(models.map(({ content }) => content)),
        unsafe(record) {
          if (machine === undefined) return null;
          const name = keyText(trialKeyOf(record.content, machine, record.units, record.function));
          return verdicts.has(name) ? name : null;
        },
      };
    },
    allow: (verdict) => access.book.allow(verdict),
    tryPiece: (request) => tryPiece(access, request),
    verifyAgain: (request) => verifyAgain(access, request),
  };
}

/** Compiles, loads and first runs a package in a helper. What it made is removed. */
async function tryPiece(access: CoremlAccess, { path, units, signal, onStage }: PieceRequest): Promise<TriedPiece> {
  const bridge = access.bridge();
  const folder = await mkdtemp(join(tmpdir(), "rlx-piece-"));
  const ended: TrialReport[] = [];
  const started = performance.now();
  const tried = (error?: unknown): TriedPiece => {
    const wire = error === undefined ? undefined : toWireError(error);
    const message = wire?.message ?? null;
    return {
      result: wire === undefined ? "ok" : wire.code === "COREML_CRASHED" ? "killed" : "failed",
      seconds: ended[0]?.seconds ?? (performance.now() - started) / 1000,
      code: wire?.code ?? null,
      message,
      failure: readFailure(message ?? "", ended[0]?.said ?? "") ?? null,
    };
  };
  try {
    await runTrial({
      program: join(dirname(bridge.path), "rlx-coreml-trial"),
      packagePath: path,
      compiled: join(folder, "piece.mlmodelc"),
      units,
      signal,
      onProgress: ({ stage }) => onStage(stage),
      onEnd: (report) => void ended.push(report),
    });
    return tried();
  } catch (error) {
    // Without a report nothing ran: the helper is missing, or the work was cancelled.
    if (signal.aborted || ended.length === 0 || toWireError(error).code === "ENV_NO_ADDON") throw error;
    return tried(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Models whose last line is of another system and whose compiled form is still here. */
function toVerify(
  entries: readonly LedgerEntry[],
  kept: ReadonlySet<string>,
  now: ReturnType<typeof systemOf>,
): readonly LedgerEntry[] {
  const seen = new Set<string>();
  return entries.filter(({ record }) => {
    const { content, units } = record;
    const key = [content, record.function, units].join("\n");
    if (seen.has(key) || record.chip !== now.chip || record.result === "cancelled") return false;
    seen.add(key);
    return kept.has(content) && !sameSystem(record, now);
  });
}

/** Asks the questions again, loads each model of the ledger in a helper again, and compares with the system before. */
async function verifyAgain(access: CoremlAccess, { signal, emit }: VerifyAgainRequest): Promise<VerifiedAgain> {
  const bridge = access.bridge();
  const machine = bridge.machine();
  const system = systemOf(machine);
  const started = performance.now();
  const phase = (name: string, sentence: string, fraction: number | null): void =>
    emit({ kind: "phase", name, sentence, fraction, elapsedSeconds: (performance.now() - started) / 1000 });
  const { entries } = await access.ledger.read();
  const kept = new Set((await modelsIn(access.models.folder)).map(({ content }) => content));
  const due = toVerify(entries, kept, system);
  phase("questions", "Asking Core ML the questions of the verification again", null);
  const { answers } = await verify(access, { signal, onAnswer: (answer) => emit({ kind: "answer", answer }) });
  const record = { version: 1, ...system, answers: answers.map(({ id, answer }) => ({ id, answer })) } as const;
  const answersBefore = await access.ledger.answersBefore(system);
  await access.ledger.appendAnswers(record);
  const changes: CompileChange[] = answersBefore === undefined ? [] : changedAnswers(answersBefore, record);
  for (const [i, { title, identity, record: before }] of due.entries()) {
    const { content, units } = before;
    const where = `${title}${before.function === "" ? "" : `, ${before.function}`}`;
    const after = await loadedAgain(access, {
      ...{ title, identity, before, signal },
      onStage: (stage) => phase(stage, `${where}: ${TRIAL_SENTENCES[stage]}`, i / due.length),
    });
    if (after === undefined) continue;
    emit({ kind: "model", title, record: after });
    changes.push(...changesOf(title, before, { ...after, content, units }));
  }
  return { after: system, before: due[0]?.record ?? answersBefore ?? null, models: due.length, changes };
}

interface Again {
  readonly title: string;
  readonly identity: string;
  readonly before: CompileRecord;
  readonly signal: AbortSignal;
  readonly onStage: (stage: keyof typeof TRIAL_SENTENCES) => void;
}

/** The line of a load under this system. */
async function loadedAgain(access: CoremlAccess, again: Again): Promise<CompileRecord | undefined> {
  const { title, identity, before, signal, onStage } = again;
  const { book, ledger, models } = access;
  const bridge = access.bridge();
  const machine = bridge.machine();
  const compiled = models.pathOf(before.content);
  try {
    return await tryRecorded({
      ...{ book, ledger, bridge, machine, why: "verify", packageBytes: before.packageBytes },
      key: trialKeyOf(before.content, machine, before.units, before.function),
      subject: { title, identity, path: null, target: before.target },
      request: {
        program: join(dirname(bridge.path), "rlx-coreml-trial"),
        // It is compiled already: the helper goes on to load it.
        packagePath: compiled,
        compiled,
        units: before.units,
        function: before.function,
        signal,
        onProgress: ({ stage }) => onStage(stage),
      },
    });
  } catch (error) {
    if (signal.aborted) throw error;
    // What it ended with is in the line that was just written.
    const { entries } = await ledger.read();
    return entries.find(({ record }) => record.content === before.content && record.function === before.function)
      ?.record;
  }
}
