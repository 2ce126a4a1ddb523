/** `rlx doctor`: what this machine has, what is missing and how to get it. */
import type { NodeEngine } from "../nodeEngine.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { oneOf } from "./client.ts";
import type { Output } from "./output.ts";

const MARKS = { ok: "✓", info: "·", warning: "!", missing: "✗" } as const;

interface DoctorOptions extends CommonOptions {
  readonly clearCache?: boolean;
  readonly calibrate?: boolean;
  readonly verify?: boolean;
  readonly output?: string;
}

export async function doctor(command: Command, _model: ModelChoice, options: DoctorOptions): Promise<number> {
  const { client, engine, output } = command;
  oneOf("what to do", {
    "--clear-cache": options.clearCache,
    "--calibrate": options.calibrate,
    "--verify": options.verify,
  });
  if (options.output !== undefined && options.verify !== true)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --output: expected together with --verify, which writes there");
  if (options.verify === true) return (await import("./verify.ts")).verifyMac(command, options.output);
  if (options.calibrate === true) return (await import("./calibrate.ts")).calibrate(command);
  if (options.clearCache === true) return clearCache(engine, output);
  const report = await client.call("doctor.run", {});
  output.value(report);
  for (const check of report.checks) {
    output.line(`${MARKS[check.state]} ${check.title}: ${check.sentence}`);
    for (const detail of check.details ?? []) output.line(`    ${detail}`);
    if (check.hint !== null) output.line(`  → ${check.hint}`);
  }
  return report.checks.some((check) => check.state === "missing") ? 1 : 0;
}

async function clearCache(engine: NodeEngine, output: Output): Promise<number> {
  const removed = await engine.plans?.clear();
  const models = await engine.coreml.models.clear();
  const left = ((await engine.plans?.facts())?.entries ?? 0) + (await engine.coreml.models.facts()).entries;
  const inUse = await engine.coreml.models.usedByOthers();
  const coreml = { removed: models.entries, bytes: models.bytes, folder: models.folder };
  output.value({
    removed: removed?.entries ?? 0,
    bytes: removed?.bytes ?? 0,
    left,
    inUse,
    folder: removed?.folder ?? null,
    coreml,
  });
  output.line(removed === undefined ? "The compile cache is switched off." : removedText(removed));
  if (models.entries > 0) output.line(`Core ML models: ${removedText(models)}`);
  if (inUse > 0) output.line(`Core ML models: another process has ${inUse} open, which stay. End it and clear again.`);
  if (left > inUse) output.line(`${entriesText(left - inUse)} could not be removed.`);
  return left > 0 ? 1 : 0;
}

const removedText = (of: { readonly entries: number; readonly bytes: number; readonly folder: string }): string =>
  `Removed ${entriesText(of.entries)} (${(of.bytes / 1e6).toFixed(1)} MB) from ${of.folder}.`;
const entriesText = (count: number): string => `${count} ${count === 1 ? "entry" : "entries"}`;
