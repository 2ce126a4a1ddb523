/** `rlx route --planned` and `rlx assert-residency`: Core ML's own plan for this machine beside the prediction. */
import type { PlannedRoute } from "../../contract/views/route.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { decimal, openForTarget } from "./client.ts";
import { phaseOf } from "./graph.ts";

const PREDICTION_HINT = "`rlx route` without --planned predicts it for any Mac, here too.";
const EXPECTATION_HINT = "`rlx route --expect` holds the prediction for any Mac to a share, here too.";

async function plannedRoute(
  command: Command,
  choice: ModelChoice,
  options: CommonOptions,
  hint: string,
): Promise<PlannedRoute> {
  const { model, target } = await openForTarget(command, choice, options);
  try {
    return await command.client.call(
      "route.planned",
      { model, target, phase: phaseOf(options) },
      { signal: command.signal },
    );
  } catch (error) {
    if (!(error instanceof WorkbenchError && error.code === "ENV_NO_DEVICE")) throw error;
    throw new WorkbenchError(error.code, error.message, { hint, cause: error });
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

export async function planned(command: Command, choice: ModelChoice, options: CommonOptions): Promise<number> {
  const view = await plannedRoute(command, choice, options, PREDICTION_HINT);
  const { output } = command;
  output.value(view);
  output.line(`${view.sentence} (${view.truth})`);
  output.line();
  const rows = view.shares.map((row) => [row.device.toUpperCase(), percent(row.predicted), percent(row.planned)]);
  output.table(["device", "predicted", "planned"], rows, { right: [1, 2] });
  if (view.differences.length > 0) {
    const list = view.differences.map((op) => [op.output, op.op, op.predicted, op.planned, percent(op.cost), op.rule]);
    output.line();
    output.table(["operator", "", "predicted", "planned", "cost", "rule"], list, { right: [4], yields: 0 });
  }
  if (view.joined < view.ops) output.line(`\n${view.ops - view.joined} of ${view.ops} operators are not in the plan.`);
  return 0;
}

/** Ends with 1 unless the Neural Engine has at least this share of the plan's cost. */
export async function assertResidency(
  command: Command,
  choice: ModelChoice,
  options: CommonOptions & { readonly minAne: string },
): Promise<number> {
  const least = decimal("min-ane", options.minAne, 0, 1);
  const view = await plannedRoute(command, choice, options, EXPECTATION_HINT);
  const share = view.shares.find((row) => row.device === "ane")?.planned ?? 0;
  const held = view.refusal === null && share >= least;
  const { output } = command;
  output.value({ share, least, held, truth: view.truth, machine: view.machine, refusal: view.refusal });
  output.line(
    `${view.machine}: ${percent(share)} on the Neural Engine, at least ${percent(least)} wanted (${view.truth})`,
  );
  // A refusal names operators as the file does.
  if (!held) output.note(view.refusal ?? view.sentence);
  return held ? 0 : 1;
}
