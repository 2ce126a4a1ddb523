/** `rlx doctor --verify`: prints what only a Mac can answer, and writes answers, plans and predictions. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { MacAnswer, VerifyItem } from "../../contract/views/mac.ts";
import type { PlannedRoute } from "../../contract/views/route.ts";
import type { Command } from "./client.ts";
import { openModel, targetOf, unfinished } from "./client.ts";
import { makeFolder } from "../files/makeFolder.ts";

type Verification = Omit<Extract<VerifyItem, { readonly kind: "done" }>, "kind"> & {
  readonly answers: readonly MacAnswer[];
};

const UNITS = ["cpu-ane", "all", "cpu-gpu", "cpu"] as const;

export async function verifyMac(command: Command, folder: string | undefined): Promise<number> {
  const { output } = command;
  const verification = await verified(command);
  output.line("\nPlan and prediction of the sample model:");
  const plans: PlannedRoute[] = [];
  const { model } = await openModel(command, { file: undefined, offer: "sample" });
  for (const units of UNITS) plans.push(await plannedFor(command, model, units));
  await command.client.call("model.close", { model });
  const { chip, os } = verification.machine;
  output.line(`\n${chip}, macOS ${os} (${verification.truth})`);
  output.value({ ...verification, plans });
  if (folder !== undefined) await keep(folder, verification, plans);
  return 0;
}

async function verified(command: Command): Promise<Verification> {
  const { client, signal } = command;
  const answers: MacAnswer[] = [];
  try {
    for await (const item of client.stream("doctor.verify", {}, { signal })) {
      if (item.kind === "done") return { truth: item.truth, machine: item.machine, answers };
      show(command, item.answer);
      answers.push(item.answer);
    }
  } catch (error) {
    if (!(error instanceof WorkbenchError && error.code === "ENV_NO_DEVICE")) throw error;
    throw new WorkbenchError(error.code, error.message, { hint: "Run it on a Mac.", cause: error });
  }
  throw unfinished(signal);
}

function show({ output }: Command, answer: MacAnswer): void {
  output.line(`${answer.question}\n  ${answer.answer.toUpperCase()}. Until now: ${answer.until}`);
  for (const finding of answer.findings) {
    const name = finding.function === "main" ? "" : ` ${finding.function}`;
    output.line(`    ${finding.units}${name}: ${finding.held ? "yes" : "no"}, ${finding.sentence}`);
  }
}

async function plannedFor(command: Command, model: string, units: (typeof UNITS)[number]): Promise<PlannedRoute> {
  const { client, output, signal } = command;
  const target = await targetOf(command, { units });
  const view = await client.call("route.planned", { model, target, phase: "decode" }, { signal });
  output.line(`  ${units}: ${view.sentence}`);
  return view;
}

async function keep(folder: string, verification: object, plans: readonly PlannedRoute[]): Promise<void> {
  try {
    await makeFolder(folder);
    await writeFile(join(folder, "answers.json"), `${JSON.stringify(verification, null, 1)}\n`);
    for (const plan of plans)
      await writeFile(join(folder, `sample-${plan.target.units}.json`), `${JSON.stringify(plain(plan), null, 1)}\n`);
  } catch (cause) {
    throw new WorkbenchError("ENV_IO", `[doctor] cannot write to ${folder}`, {
      hint: "Choose a folder that can be written to.",
      cause,
    });
  }
}

/** Columns as lists of numbers, for people and scripts. */
const plain = (plan: PlannedRoute): object => ({
  ...plan,
  nodes: { predicted: [...plan.nodes.predicted], planned: [...plan.nodes.planned] },
});
