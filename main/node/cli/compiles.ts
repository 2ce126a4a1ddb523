/** `rlx compiles`: the ledger of Core ML's compiles, consent for what ended its helper, verifying after an update, finding a culprit. */
import type { CompileChange, CompileRow, ExplainItem, VerifyAgainItem } from "../../contract/views/compiles.ts";
import { secondsText } from "../../contract/views/compiles.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { oneOf, openModel, targetOf, unfinished } from "./client.ts";

export interface CompilesOptions extends CommonOptions {
  readonly explain?: boolean;
  readonly verify?: boolean;
  readonly allow?: string;
}

export async function compiles(command: Command, choice: ModelChoice, options: CompilesOptions): Promise<number> {
  oneOf("what to do", { "--explain": options.explain, "--verify": options.verify, "--allow": options.allow });
  const named = choice.file !== undefined || choice.offer !== undefined;
  if (named && (options.verify === true || options.allow !== undefined))
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] got a model, expected none with --verify or --allow");
  if (options.explain === true) return explain(command, choice, options);
  if (options.verify === true) return verify(command);
  if (options.allow !== undefined) return allow(command, options.allow);
  return list(command, named ? choice : undefined);
}

async function list(command: Command, choice: ModelChoice | undefined): Promise<number> {
  const { client, output, signal } = command;
  const opened = choice === undefined ? undefined : await openModel(command, choice);
  const made = await client.call("compiles.list", { model: opened?.model ?? null }, { signal });
  output.value(made);
  output.line(made.sentence);
  if (made.changed !== null) {
    output.line(`! ${made.changed.sentence}`);
    if (made.changed.toVerify > 0)
      output.line(`  → rlx compiles --verify loads ${made.changed.toVerify} of them again.`);
  }
  if (made.estimate !== null) output.line(`The next first load of ${opened?.title ?? "it"}: ${made.estimate.sentence}`);
  if (made.damaged > 0) output.line(`${made.damaged} damaged lines of the ledger were left out.`);
  if (made.rows.length > 0)
    output.table(["model", "function", "units", "loads", "last", "on", "how long"], made.rows.map(cells));
  for (const row of made.rows) {
    if (row.last.failure !== null) output.line(`${row.title}: ${row.last.failure.title}. ${row.last.failure.sentence}`);
    if (row.unsafe !== null)
      output.line(`${row.title}: not loaded again by itself. rlx compiles --allow "${row.unsafe}"`);
  }
  return 0;
}

const cells = (row: CompileRow): string[] => [
  row.title,
  row.function === "" ? "main" : row.function,
  row.units,
  String(row.loads),
  row.last.result === "ok" ? "ok" : `${row.last.result} in ${row.last.stage ?? "?"}`,
  `macOS ${row.last.os} ${row.last.osBuild}`.trim(),
  row.estimate.seconds === null ? "" : secondsText(row.estimate.seconds.typical),
];

async function allow({ client, output, signal }: Command, verdict: string): Promise<number> {
  await client.call("compiles.allow", { verdict }, { signal });
  output.value({ allowed: verdict });
  output.line("It is tried once more, in a helper, at its next load.");
  return 0;
}

async function verify({ client, output, signal }: Command): Promise<number> {
  let done: Extract<VerifyAgainItem, { readonly kind: "done" }> | undefined;
  for await (const item of client.stream("compiles.verify", {}, { signal })) {
    if (item.kind === "phase") output.progress(item.sentence);
    if (item.kind === "model") {
      output.endProgress();
      output.line(`${item.title} ${item.record.function}: ${item.record.result}, ${secondsText(item.record.seconds)}`);
    }
    if (item.kind === "done") done = item;
  }
  output.endProgress();
  if (done === undefined) throw unfinished(signal);
  output.value(done);
  output.line(done.sentence);
  for (const change of done.changes) output.line(changeLine(change));
  return done.changes.some(({ worse }) => worse) ? 1 : 0;
}

const changeLine = ({ what, before, after, worse }: CompileChange): string =>
  `${worse ? "!" : "·"} ${what}: ${before} → ${after}`;

async function explain(command: Command, choice: ModelChoice, options: CompilesOptions): Promise<number> {
  const { client, output, signal } = command;
  const { model } = await openModel(command, choice);
  const target = await targetOf(command, options);
  let done: Extract<ExplainItem, { readonly kind: "done" }> | undefined;
  const input = { model, target, phase: options.phase ?? "decode" } as const;
  for await (const item of client.stream("compiles.explain", input, { signal })) {
    // A line for each piece is enough where lines stay.
    if (item.kind === "phase") output.progress(item.sentence, item.sentence.replace(/: [^:]*$/u, ""));
    if (item.kind === "tried") {
      output.endProgress();
      output.line(
        `  ${item.count}. ${item.ops} ${item.ops === 1 ? "operation" : "operations"}: ${item.outcome} (${secondsText(item.seconds)})`,
      );
    }
    if (item.kind === "done") done = item;
  }
  output.endProgress();
  if (done === undefined) throw unfinished(signal);
  output.value(done);
  output.line(done.sentence);
  if (done.failure !== null) output.line(`  ${done.failure.sentence}`);
  for (const { node, title, shape } of done.culprits) output.line(`  op ${node}: ${title}, makes ${shape}`);
  for (const way of done.ways)
    output.line(`  ${way.works === true ? "✓" : way.works === false ? "✗" : "·"} ${way.title}. ${way.sentence}`);
  if (done.truth === "simulated") output.line("Core ML is simulated here: this says nothing of a Mac.");
  return done.result === "compiles" ? 0 : 1;
}
