/**
 * Compiles, loads and first runs a model in a process that may die: Apple's code can end a process, and
 * specialising for the Neural Engine can take minutes. The verdict is kept per model, system, chip and
 * units, so that a crash happens once.
 */
import { spawn } from "node:child_process";
import { readFile, rename, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { isErrorCode, throwIfCancelled, WorkbenchError } from "../../../diagnostics/errors.ts";
import type { CoremlUnit } from "./native.ts";
import { makeFolder } from "../../files/makeFolder.ts";

export type TrialStage = "compile" | "load" | "first prediction" | "warm-up";
const STAGES: readonly string[] = ["compile", "load", "first prediction", "warm-up"] satisfies readonly TrialStage[];

export interface TrialProgress {
  readonly stage: TrialStage;
  readonly elapsedSeconds: number;
}
export const TRIAL_SENTENCES: Readonly<Record<TrialStage, string>> = {
  compile: "Core ML compiles the package",
  load: "The system specialises the model for its units",
  "first prediction": "First prediction, in a process that may die",
  "warm-up": "Second prediction: what is left to load is loaded",
};

export interface TrialTimes {
  readonly cached: boolean;
  readonly compileSeconds: number;
  readonly loadSeconds: number;
  readonly firstSeconds: number;
  readonly secondSeconds: number;
}

/** How a trial went, however it ended. */
export interface TrialReport {
  readonly seconds: number;
  readonly stages: readonly { readonly stage: TrialStage; readonly seconds: number }[];
  /** What it wrote on standard error, the end of it. */
  readonly said: string;
}

export interface TrialRequest {
  /** rlx-coreml-trial. */
  readonly program: string;
  readonly packagePath: string;
  readonly compiled: string;
  readonly units: CoremlUnit;
  readonly function?: string;
  readonly infrequentReshape?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: TrialProgress) => void;
  readonly onEnd?: (report: TrialReport) => void;
}

/** Letters of standard error that are kept. */
const MOST_SAID = 8000;
const PROGRESS_EVERY_MS = 250;

const signalNumber = (name: NodeJS.Signals): number => constants.signals[name];

interface Line {
  readonly stage?: unknown;
  readonly result?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly domain?: unknown;
  readonly number?: unknown;
}

function parsed(text: string): Line {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
const isStage = (value: unknown): value is TrialStage => typeof value === "string" && STAGES.includes(value);

/** Runs the trial. Rejects with COREML_CRASHED, CANCELLED, or the model's own error. */
export function runTrial(request: TrialRequest): Promise<TrialTimes> {
  throwIfCancelled(request.signal);
  const { program, packagePath, compiled, units, signal, onProgress } = request;
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const hints = request.infrequentReshape === true ? ["--infrequent-reshape"] : [];
    const child = spawn(program, [packagePath, compiled, units, request.function ?? "", ...hints], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stage: TrialStage = "compile";
    let since = started;
    const stages: { readonly stage: TrialStage; readonly seconds: number }[] = [];
    const enter = (next: TrialStage | undefined): void => {
      const now = performance.now();
      if (next !== stage) stages.push({ stage, seconds: (now - since) / 1000 });
      if (next === undefined || next === stage) return;
      [stage, since] = [next, now];
    };
    let result: Line | undefined;
    let [pending, said] = ["", ""];
    const report = (): void => onProgress?.({ stage, elapsedSeconds: (performance.now() - started) / 1000 });
    const timer = setInterval(report, PROGRESS_EVERY_MS);
    // Specialising cannot be interrupted: only the end of its process stops it.
    const stop = (): void => void child.kill("SIGKILL");
    signal?.addEventListener("abort", stop, { once: true });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines.map(parsed)) {
        if (isStage(line.stage)) {
          enter(line.stage);
          report();
        } else if (line.result !== undefined) result = line;
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-MOST_SAID);
    });
    const finish = (): void => {
      clearInterval(timer);
      signal?.removeEventListener("abort", stop);
      enter(undefined);
      request.onEnd?.({ seconds: (performance.now() - started) / 1000, stages, said });
    };
    child.on("error", (cause) => {
      finish();
      reject(new WorkbenchError("ENV_NO_ADDON", `[coreml] cannot start ${program}`, { cause }));
    });
    child.on("close", (code, killedBy) => {
      finish();
      if (signal?.aborted === true) return reject(new WorkbenchError("CANCELLED", "Cancelled."));
      if (killedBy !== null || result === undefined)
        return reject(
          crashed(
            stage,
            killedBy === null ? `ended with code ${code ?? "?"}` : `killed by signal ${signalNumber(killedBy)}`,
            said,
          ),
        );
      if (result.result === "ok") return resolve(result as unknown as TrialTimes);
      reject(
        new WorkbenchError(
          isErrorCode(result.code) ? result.code : "BUG_UNEXPECTED",
          typeof result.message === "string" ? result.message : "[coreml] the trial failed",
          { details: { stage, said, domain: textOf(result.domain), number: numberOf(result.number) } },
        ),
      );
    });
  });
}

const crashed = (stage: TrialStage, how: string, said: string): WorkbenchError =>
  new WorkbenchError(
    "COREML_CRASHED",
    `[coreml] ${how} during ${stage === "first prediction" ? stage : `the ${stage}`}`,
    {
      hint: "This model is not loaded again on this Mac with these units: choose others, or run it on the cpu.",
      details: { stage, how, said },
    },
  );

// --------------------------------------------------------------------------------------- what is known

export interface TrialKey {
  /** Hash of the model's content. */
  readonly model: string;
  readonly os: string;
  readonly chip: string;
  readonly units: CoremlUnit;
  readonly function: string;
}
export type Verdict =
  { readonly kind: "safe"; readonly times: TrialTimes } | { readonly kind: "unsafe"; readonly reason: string };

/** Verdicts in one small file of the data folder, rewritten as a whole. */
export class TrialBook {
  readonly path: string;

  constructor(folder: string) {
    this.path = join(folder, "coreml-trials.json");
  }

  async find(key: TrialKey): Promise<Verdict | undefined> {
    const all = await this.#read();
    return Object.hasOwn(all, keyText(key)) ? all[keyText(key)] : undefined;
  }

  record(key: TrialKey, verdict: Verdict): Promise<void> {
    return this.#change((all) => ({ ...all, [keyText(key)]: verdict }));
  }

  /** Names of the verdicts that keep models from being loaded. */
  async unsafe(): Promise<ReadonlySet<string>> {
    const all = await this.#read();
    return new Set(Object.keys(all).filter((name) => all[name]?.kind === "unsafe"));
  }

  /** Forgets the verdict of an unsafe model: it is tried once more, in a helper. False: there is none. */
  async allow(name: string): Promise<boolean> {
    if (!(await this.unsafe()).has(name)) return false;
    await this.#change((all) => Object.fromEntries(Object.entries(all).filter(([own]) => own !== name)));
    return true;
  }

  async #change(change: (all: Readonly<Record<string, Verdict>>) => Readonly<Record<string, Verdict>>): Promise<void> {
    const all = change(await this.#read());
    await makeFolder(dirname(this.path));
    const temporary = `${this.path}.${process.pid}.partial`;
    await writeFile(temporary, `${JSON.stringify(all, null, 1)}\n`);
    await rename(temporary, this.path);
  }

  async #read(): Promise<Readonly<Record<string, Verdict>>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.path, "utf8"));
      // A damaged file costs one more trial.
      return typeof value === "object" && value !== null ? (value as Readonly<Record<string, Verdict>>) : {};
    } catch {
      return {};
    }
  }
}

/** The name of a verdict. */
export const keyText = (key: TrialKey): string => [key.model, key.os, key.chip, key.units, key.function].join("|");

/**
 * Tries a model unless its verdict is known. A model that passed is not tried again; one that crashed
 * is refused with the reason. An error is no verdict: the next call tries again.
 */
export async function tryOnce(book: TrialBook, key: TrialKey, request: TrialRequest): Promise<TrialTimes> {
  const known = await book.find(key);
  if (known?.kind === "unsafe")
    throw new WorkbenchError("COREML_UNSAFE", `[coreml] not loaded: ${known.reason} on ${key.chip}, macOS ${key.os}`, {
      hint: "Choose other units or the cpu. To try it again in a helper all the same, allow it (in a terminal: --try-unsafe).",
      details: { verdict: keyText(key) },
    });
  if (known?.kind === "safe") return known.times;
  try {
    const times = await runTrial(request);
    await book.record(key, { kind: "safe", times });
    return times;
  } catch (error) {
    if (error instanceof WorkbenchError && error.code === "COREML_CRASHED")
      await book.record(key, { kind: "unsafe", reason: error.message.replace("[coreml] ", "") });
    throw error;
  }
}
