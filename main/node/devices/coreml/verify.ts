/**
 * `rlx doctor --verify`: every experiment on every choice of units, first in a child process, then
 * here. Compares the numbers with the simulator's and prints the compute plan. Also measures the
 * bridge itself: shared states, the time of a second load, outputs written in place.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openPackage } from "../../../backends/coreml/package.ts";
import { Simulator } from "../../../backends/coreml/simulator/simulator.ts";
import { packageTensor } from "../../../backends/coreml/package/packageTensor.ts";
import type { MacAnswer } from "../../../contract/views/mac.ts";
import { toWireError } from "../../../diagnostics/errors.ts";
import { packageReader } from "../../files/packageDirectory.ts";
import type { CoremlAccess } from "./device.ts";
import type { Experiment } from "./experiments.ts";
import { experimentInput, EXPERIMENTS } from "./experiments.ts";
import type { BridgeTruth, CoremlBridge, CoremlMachine, CoremlUnit } from "./native.ts";
import { runTrial } from "./trial.ts";

const UNITS: readonly CoremlUnit[] = ["cpu", "cpu-gpu", "cpu-ane", "all"];
/** Tolerance of f16 sums of 64 terms. */
const CLOSE = 1e-2;

type Finding = MacAnswer["findings"][number];
export interface Verification {
  readonly truth: BridgeTruth;
  readonly machine: CoremlMachine;
  readonly answers: readonly MacAnswer[];
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly onAnswer?: (answer: MacAnswer) => void;
}

export async function verify(access: CoremlAccess, options: VerifyOptions): Promise<Verification> {
  const bridge = access.bridge();
  const folder = await mkdtemp(join(tmpdir(), "rlx-verify-"));
  try {
    const answers: MacAnswer[] = [];
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
): Promise<MacAnswer> {
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
  /** The package that the simulator runs. */
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
