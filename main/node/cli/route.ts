/** `rlx route` and `rlx segments`: predicted placement for a named target, its reasons, and where the program is cut. */
import type { GraphView, LoweringView } from "../../contract/views/graph.ts";
import { operationsText } from "../../contract/views/graph.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { deviceOf } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { oneOf, openForTarget } from "./client.ts";
import { phaseOf } from "./graph.ts";
import { VARIABLES } from "../settings.ts";
import { bytesText } from "./output.ts";
import { planned } from "./planned.ts";
import { routeOnMlx } from "./routeOnMlx.ts";

interface RouteOptions extends CommonOptions {
  readonly expect?: string;
  readonly ops?: boolean;
  readonly planned?: boolean;
  readonly mlx?: boolean;
}

async function routeView(command: Command, choice: ModelChoice, options: CommonOptions): Promise<RouteView> {
  const { model, target } = await openForTarget(command, choice, options);
  return command.client.call("route.get", { model, target, phase: phaseOf(options) }, { signal: command.signal });
}

export async function route(command: Command, choice: ModelChoice, options: RouteOptions): Promise<number> {
  oneOf("what to show", { "--planned": options.planned, "--mlx": options.mlx, "--expect": options.expect });
  oneOf("what to show", { "--planned": options.planned, "--ops": options.ops });
  if (options.planned === true) return planned(command, choice, options);
  if (options.mlx === true) return routeOnMlx(command, choice, options);
  const expectation = options.expect === undefined ? undefined : parseExpectation(options.expect);
  const view = await routeView(command, choice, options);
  const { output } = command;
  const held = expectation === undefined || holds(view, expectation);
  output.value(expectation === undefined ? view : { ...view, expectation: { ...expectation, held } });
  output.line(`${view.targetTitle} (${view.truth})\n${view.sentence}`);
  output.line();
  const rows = view.devices.map((row) => [
    row.device.toUpperCase(),
    String(row.ops),
    `${(row.workShare * 100).toFixed(1)} %`,
  ]);
  output.table(["device", "ops", "work"], rows, { right: [1, 2] });
  noteDispatch(command);
  if (options.ops === true) {
    output.line();
    const graph = await command.client.call("graph.get", view.key, { signal: command.signal });
    output.table(["", "op", "name", "device", "work", "reason"], opRows(view, graph), { right: [0, 4], yields: 5 });
  }
  if (expectation !== undefined && !held) {
    process.stderr.write(
      `${expectation.device.toUpperCase()} has ${(shareOf(view, expectation.device) * 100).toFixed(1)} % of the work, expected ${options.expect ?? ""}\n`,
    );
    return 1;
  }
  return 0;
}

/** Says that a setting has no effect here. */
function noteDispatch({ output, settings: { dispatch } }: Command): void {
  if (dispatch === VARIABLES.dispatch.initial) return;
  output.line(
    `\n${VARIABLES.dispatch.name}=${dispatch} is for the devices cpu and mlx; this route and packages are Core ML's.`,
  );
}

function opRows(view: RouteView, graph: GraphView): string[][] {
  const rows: string[][] = [];
  view.nodes.device.forEach((code, node) => {
    if (deviceOf(code) === "none") return;
    rows.push([
      String(node),
      graph.strings[graph.nodes.op[node] ?? 0] ?? "",
      graph.strings[graph.nodes.name[node] ?? 0] ?? "",
      deviceOf(code),
      `${((view.nodes.work[node] ?? 0) * 100).toFixed(2)} %`,
      view.strings[view.nodes.reason[node] ?? 0] ?? "",
    ]);
    rows.push(...operationRows(view.lowerings[view.nodes.lowering[node] ?? 0]));
  });
  return rows;
}

/** Rows below an op whose operations have several devices or reasons. */
function operationRows(lowering: LoweringView | undefined): string[][] {
  if (lowering === undefined || lowering.groups.length < 2) return [];
  return lowering.groups.map(({ operations, device, rule, workShare }) => [
    "",
    "",
    `  ${operations.reduce((sum, { count }) => sum + count, 0)} of ${lowering.operations} operations`,
    device,
    `${(workShare * 100).toFixed(0)} % of it`,
    `${operationsText(operations)}: ${rule.sentence}`,
  ]);
}

interface Expectation {
  readonly device: string;
  readonly least: number;
}

function parseExpectation(text: string): Expectation {
  const match = /^(ane|gpu|cpu|host)>=(0(?:\.\d+)?|1(?:\.0+)?)$/.exec(text.trim().toLowerCase());
  if (match?.[1] === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --expect: got ${text}, expected for example ane>=0.9`);
  return { device: match[1], least: Number(match[2]) };
}

const shareOf = (view: RouteView, device: string): number =>
  view.devices.find((row) => row.device === device)?.workShare ?? 0;
const holds = (view: RouteView, expectation: Expectation): boolean =>
  shareOf(view, expectation.device) >= expectation.least;

export async function segments(command: Command, choice: ModelChoice, options: CommonOptions): Promise<undefined> {
  const view = await routeView(command, choice, options);
  const { output } = command;
  output.value({
    target: view.target,
    targetTitle: view.targetTitle,
    phase: view.phase,
    truth: view.truth,
    segments: view.segments,
    hops: view.hops,
  });
  output.line(`${view.targetTitle} (${view.truth})`);
  const rows = view.segments.map((s) => [
    String(s.index),
    s.device.toUpperCase(),
    String(s.ops),
    `${(s.workShare * 100).toFixed(1)} %`,
    bytesText(s.bytesIn),
    bytesText(s.bytesOut),
    s.why,
  ]);
  output.table(["", "device", "ops", "work", "in", "out", "why cut here"], rows, {
    right: [0, 2, 3, 4, 5],
    yields: 6,
    by: "wrap",
  });
  return undefined;
}
