/** `rlx route` and `rlx segments`: predicted placement for a named target, its reasons, and where the program is cut. */
import type { GraphView, LoweringView } from "../../contract/views/graph.ts";
import { NO_OPERATION_TITLE, opsWithoutOperation } from "../../contract/routeCounts.ts";
import { operationsText } from "../../contract/views/graph.ts";
import type { Input } from "../../contract/contract.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { deviceOf } from "../../contract/views/common.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { oneOf, openForTarget } from "./client.ts";
import { backendOf, phaseOf } from "./graph.ts";
import { VARIABLES } from "../settings.ts";
import { bytesText, figureText } from "./output.ts";
import { planned } from "./planned.ts";
import { routeOnMlx } from "./routeOnMlx.ts";
import { verdictOn } from "./verdict.ts";

interface RouteOptions extends CommonOptions {
  readonly backend?: string;
  readonly expect?: string;
  readonly ops?: boolean;
  readonly planned?: boolean;
  readonly mlx?: boolean;
}

async function routeView(command: Command, choice: ModelChoice, options: RouteOptions): Promise<RouteView> {
  const backend = backendOf(options);
  const { model, target } = await openForTarget(command, choice, options);
  const phase = phaseOf(options);
  return command.client.call("route.get", { model, backend, target, phase }, { signal: command.signal });
}

export async function route(command: Command, choice: ModelChoice, options: RouteOptions): Promise<number> {
  oneOf("what to show", { "--planned": options.planned, "--mlx": options.mlx, "--expect": options.expect });
  oneOf("what to show", { "--planned": options.planned, "--ops": options.ops });
  oneOf("what to show", { "--planned": options.planned, "--mlx": options.mlx, "--backend": options.backend });
  if (options.planned === true) return planned(command, choice, options);
  if (options.mlx === true) return routeOnMlx(command, choice, options);
  const expectation = options.expect === undefined ? undefined : parseExpectation(options.expect);
  const view = await routeView(command, choice, options);
  const { output } = command;
  const held = expectation === undefined || holds(view, expectation);
  const { key, backend, target, phase } = view;
  const verdict = await verdictOn(command, key.model, { backend, target }, "own");
  output.value({ ...view, verdict, ...(expectation === undefined ? {} : { expectation: { ...expectation, held } }) });
  output.line(`${view.targetTitle} (${view.truth})\n${view.sentence}`);
  // The verdict's own line is of decode.
  if (phase === "prefill")
    output.line(await stepLine(command, { model: key.model, subject: { backend, target }, phase }));
  else if (verdict !== null) output.line(verdict.sentence);
  output.line();
  output.table(["device", "ops", "time", "share"], timeRows(view), { right: [1, 2, 3] });
  if (view.backend === "coreml") noteDispatch(command);
  if (options.ops === true) {
    output.line();
    const graph = await command.client.call("graph.get", view.key, { signal: command.signal });
    output.table(["", "op", "name", "device", "time", "share", "reason"], opRows(view, graph), {
      right: [0, 4, 5],
      yields: 6,
    });
  }
  if (expectation !== undefined && !held) {
    command.streams.stderr.write(
      `${expectation.device.toUpperCase()} has ${(shareOf(view, expectation.device) * 100).toFixed(1)} % of the work, expected ${options.expect ?? ""}\n`,
    );
    return 1;
  }
  return 0;
}

/** How long a step takes, and what most of it goes into. */
const stepLine = async ({ client, signal }: Command, of: Input<"cost.get">): Promise<string> =>
  (await client.call("cost.get", of, { signal })).sentence;

/** Devices, and what belongs to none: together the step. */
function timeRows(view: RouteView): string[][] {
  const row = (name: string, ops: string, seconds: number): string[] => [
    name,
    ops,
    secondsText(seconds),
    `${((100 * seconds) / (view.step.value || 1)).toFixed(1)} %`,
  ];
  const none = opsWithoutOperation(view);
  const hops = view.hops.reduce((sum, { seconds }) => sum + seconds.value, 0);
  return [
    ...view.devices.map(({ device, ops, seconds }) => row(device.toUpperCase(), String(ops), seconds.value)),
    ...(hops === 0 ? [] : [row("hops", String(view.hops.length), hops)]),
    ...(view.cacheSeconds.value === 0 ? [] : [row("copied caches", "", view.cacheSeconds.value)]),
    ...(none === 0 ? [] : [[NO_OPERATION_TITLE, String(none), "", ""]]),
    row("a step", "", view.step.value),
  ];
}

/** "~5.5 ms" */
const secondsText = (seconds: number): string =>
  figureText({ value: seconds, low: null, high: null, unit: "seconds", truth: "predicted", basis: "" });

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
    const [seconds, share] = [view.nodes.seconds[node] ?? 0, view.nodes.work[node] ?? 0];
    rows.push([
      String(node),
      graph.strings[graph.nodes.op[node] ?? 0] ?? "",
      graph.strings[graph.nodes.name[node] ?? 0] ?? "",
      deviceOf(code),
      opSeconds(seconds),
      shareText(share),
      view.strings[view.nodes.reason[node] ?? 0] ?? "",
    ]);
    rows.push(...operationRows(view.lowerings[view.nodes.lowering[node] ?? 0], seconds, share));
  });
  return rows;
}

const shareText = (share: number): string => `${(share * 100).toFixed(2)} %`;
/** A prediction tells no less. */
const opSeconds = (seconds: number): string =>
  seconds === 0 ? "–" : seconds < 1e-7 ? "< 0.1 µs" : secondsText(seconds);

/** Rows below an op whose operations have several devices or reasons, with their parts of its time. */
function operationRows(lowering: LoweringView | undefined, seconds: number, share: number): string[][] {
  if (lowering === undefined || lowering.groups.length < 2) return [];
  return lowering.groups.map(({ operations, device, rule, workShare }) => [
    "",
    "",
    `  ${operations.reduce((sum, { count }) => sum + count, 0)} of ${lowering.operations} MIL ops`,
    device,
    opSeconds(seconds * workShare),
    shareText(share * workShare),
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

/** Of the time on devices: hops are on none. */
function shareOf({ devices }: RouteView, device: string): number {
  const whole = devices.reduce((sum, { seconds }) => sum + seconds.value, 0);
  const own = devices.find((row) => row.device === device)?.seconds.value ?? 0;
  return whole === 0 ? 0 : own / whole;
}
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
    step: view.step,
  });
  output.line(`${view.targetTitle} (${view.truth})`);
  const rows = view.segments.map((s) => [
    String(s.index),
    s.device.toUpperCase(),
    String(s.ops),
    secondsText(s.seconds.value),
    `${(s.workShare * 100).toFixed(1)} %`,
    bytesText(s.bytesIn),
    bytesText(s.bytesOut),
    s.why,
  ]);
  output.table(["", "device", "ops", "time", "share", "in", "out", "why cut here"], rows, {
    right: [0, 2, 3, 4, 5, 6],
    yields: 7,
    by: "wrap",
  });
  return undefined;
}
