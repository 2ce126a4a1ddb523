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

export type TrialStage = "compile" | "load" | "first prediction";
const STAGES: readonly string[] = ["compile", "load", "first prediction"] satisfies readonly TrialStage[];

export interface TrialProgress {
  readonly stage: TrialStage;
  readonly elapsedSeconds: number;
}
export const TRIAL_SENTENCES: Readonly<Record<TrialStage, string>> = {
  compile: "Core ML compiles the package",
  load: "The system specialises the model for its units",
  "first prediction": "First prediction, in a process that may die",
};

export interface TrialTimes {
  readonly cached: boolean;
  readonly compileSeconds: number;
  readonly loadSeconds: number;
  readonly firstSeconds: number;
  readonly secondSeconds: number;
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
}

const PROGRESS_EVERY_MS = 250;

const signalNumber = (name: NodeJS.Signals): number => constants.signals[name];

interface Line {
  readonly stage?: unknown;
  readonly result?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

function parsed(text: string): Line {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

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
          stage = line.stage;
          report();
        } else if (line.result !== undefined) result = line;
      }
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-2000);
    });
    const finish = (): void => {
      clearInterval(timer);
      signal?.removeEventListener("abort", stop);
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

  async record(key: TrialKey, verdict: Verdict): Promise<void> {
    const all = { ...(await this.#read()), [keyText(key)]: verdict };
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

const keyText = (key: TrialKey): string => [key.model, key.os, key.chip, key.units, key.function].join("|");

/**
 * Tries a model unless its verdict is known. A model that passed is not tried again; one that crashed
 * is refused with the reason. An error is no verdict: the next call tries again.
 */
export async function tryOnce(book: TrialBook, key: TrialKey, request: TrialRequest): Promise<TrialTimes> {
  const known = await book.find(key);
  if (known?.kind === "unsafe")
    throw new WorkbenchError("COREML_UNSAFE", `[coreml] not loaded: ${known.reason} on ${key.chip}, macOS ${key.os}`, {
      hint: `Choose other units or the cpu; to try again, remove ${book.path}.`,
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
