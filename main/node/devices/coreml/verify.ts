/**
 * `rlx doctor --verify`: every experiment on every choice of units, first in a process that may die, then here; the numbers against
 * the simulator's, the compute plan beside them. And what only a Mac knows of the bridge itself: who shares a state, how long the
 * second load takes, whether outputs are written where they were proposed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openPackage } from "../../../backends/coreml/package.ts";
import { Simulator } from "../../../backends/coreml/simulator/simulator.ts";
import { packageTensor } from "../../../backends/coreml/package/packageTensor.ts";
import { toWireError } from "../../../diagnostics/errors.ts";
import { packageReader } from "../../files/packageDirectory.ts";
import type { CoremlAccess } from "./device.ts";
import type { Experiment } from "./experiments.ts";
import { experimentInput, EXPERIMENTS } from "./experiments.ts";
import type { CoremlBridge, CoremlMachine, CoremlPlannedOp, CoremlUnit } from "./native.ts";
import { runTrial } from "./trial.ts";

const UNITS: readonly CoremlUnit[] = ["cpu", "cpu-gpu", "cpu-ane", "all"];
/** Halves with sums of 64: what a right answer differs by, and a wrong one does not. */
const CLOSE = 1e-2;

export interface Finding {
  readonly units: CoremlUnit;
  readonly function: string;
  readonly held: boolean;
  /** "relative error 3e-4", or the code and sentence of what went wrong. */
  readonly sentence: string;
  readonly relativeError: number | null;
  readonly loadSeconds: number | null;
  /** After a child process has loaded it already: shows whether the system's cache is shared. */
  readonly trialLoadSeconds: number | null;
  readonly plan: readonly CoremlPlannedOp[] | null;
}
export interface Answer {
  readonly id: string;
  readonly question: string;
  readonly until: string;
  readonly answer: "yes" | "no" | "depends on the units";
  readonly findings: readonly Finding[];
}
export interface Verification {
  readonly truth: "measured" | "simulated";
  readonly machine: CoremlMachine;
  readonly answers: readonly Answer[];
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly onAnswer?: (answer: Answer) => void;
}

export async function verify(access: CoremlAccess, options: VerifyOptions): Promise<Verification> {
  const bridge = access.bridge();
  const folder = await mkdtemp(join(tmpdir(), "rlx-verify-"));
  try {
    const answers: Answer[] = [];
    for (const experiment of EXPERIMENTS) {
      const answer = await answerTo(bridge, experiment, folder, options.signal);
      options.onAnswer?.(answer);
      answers.push(answer);
    }
    return { truth: bridge.truth, machine: bridge.machine(), answers };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function answerTo(
  bridge: CoremlBridge,
  experiment: Experiment,
  folder: string,
  signal: AbortSignal,
): Promise<Answer> {
  const packagePath = join(folder, `${experiment.id}.mlpackage`);
  await experiment.write(packagePath);
  const referencePath = join(folder, `${experiment.id}.reference.mlpackage`);
  await experiment.reference?.(referencePath);
  const wantedFrom = experiment.reference === undefined ? packagePath : referencePath;
  const findings: Finding[] = [];
  for (const units of UNITS)
    for (const name of experiment.functions)
      findings.push(await tried(bridge, experiment, { packagePath, wantedFrom, units, name }, signal));
  const held = findings.filter((finding) => finding.held).length;
  const { id, question, until } = experiment;
  return {
    id,
    question,
    until,
    answer: held === findings.length ? "yes" : held === 0 ? "no" : "depends on the units",
    findings,
  };
}

interface Try {
  readonly packagePath: string;
  /** The package that the simulator computes the answer from. */
  readonly wantedFrom: string;
  readonly units: CoremlUnit;
  readonly name: string;
}

async function tried(
  bridge: CoremlBridge,
  experiment: Experiment,
  { packagePath, wantedFrom, units, name }: Try,
  signal: AbortSignal,
): Promise<Finding> {
  const failed = (error: unknown): Finding => {
    const { code, message } = toWireError(error);
    const nothing = { relativeError: null, loadSeconds: null, trialLoadSeconds: null, plan: null };
    return { units, function: name, held: false, sentence: `${code}: ${message}`, ...nothing };
  };
  const compiled = packagePath.replace(/\.mlpackage$/, ".mlmodelc");
  const chosen = experiment.functions.length > 1 ? { function: name } : {};
  try {
    const program = join(dirname(bridge.path), "rlx-coreml-trial");
    const times = await runTrial({ program, packagePath, compiled, units, signal, ...chosen });
    const model = await bridge.load(compiled, { units, ...chosen }, signal);
    try {
      const x = experimentInput();
      const { outputs } = await model.predict([{ name: "x", shape: [1, x.length], data: x }], { signal });
      const plan = await bridge.plan(compiled, { units, ...chosen }, signal);
      const own = plan.ops.filter((op) => op.function === name || experiment.functions.length === 1);
      const error = relativeError(outputs[0]?.data ?? [], await expected(wantedFrom, name, x));
      const pinned = experiment.id !== "pin" || own.find((op) => op.op === "linear")?.preferred === "cpu";
      return {
        units,
        function: name,
        held: error <= CLOSE && pinned,
        sentence: `relative error ${error.toExponential(1)}${pinned ? "" : ", but not on the CPU"}`,
        relativeError: error,
        loadSeconds: model.loadSeconds,
        trialLoadSeconds: times.loadSeconds,
        plan: own,
      };
    } finally {
      model.dispose();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return failed(error);
  }
}

async function expected(packagePath: string, name: string, x: Float32Array): Promise<ArrayLike<number>> {
  const reader = packageReader(packagePath);
  try {
    const simulator = new Simulator(await openPackage(reader));
    const made = await simulator.function(name).predict({ x: packageTensor("fp16", [1, x.length], x.slice()) });
    return made["y"]?.data ?? [];
  } finally {
    await reader.close();
  }
}

export function relativeError(made: ArrayLike<number>, wanted: ArrayLike<number>): number {
  if (made.length !== wanted.length || wanted.length === 0) return Infinity;
  let [error, norm] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    error += ((made[i] ?? NaN) - (wanted[i] ?? 0)) ** 2;
    norm += (wanted[i] ?? 0) ** 2;
  }
  const relative = Math.sqrt(error / norm);
  return Number.isNaN(relative) ? Infinity : relative;
}
