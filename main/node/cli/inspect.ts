/** `rlx inspect`: the overview, the keys, the tensors. */
import type { Input } from "../../contract/contract.ts";
import type { Overview, TensorRow } from "../../contract/views/model.ts";
import { isGraphAlone } from "../../contract/views/model.ts";
import { blocksOf, printBlocks } from "./blocks.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { noteContext, oneOf, openModel, targetOf } from "./client.ts";
import { bytesText, figureText } from "./output.ts";
import { cacheTypeGiven } from "./precision.ts";
import { printRouting, routingOf } from "./routing.ts";
import { FIGURE_WIDTH, printSpeed, printSum, printVerdict, verdictOn } from "./verdict.ts";

interface InspectOptions extends CommonOptions {
  readonly metadata?: string | true;
  readonly key?: string;
  readonly tensors?: string | true;
  readonly cacheType?: string;
}

/** In `rlx inspect --tensors model.gguf` the word is the file, not a query. */
function settle(choice: ModelChoice, query: string | true | undefined): { choice: ModelChoice; query: string } {
  if (typeof query === "string" && choice.file === undefined && choice.offer === undefined)
    return { choice: { ...choice, file: query }, query: "" };
  return { choice, query: typeof query === "string" ? query : "" };
}

export async function inspect(command: Command, given: ModelChoice, options: InspectOptions): Promise<undefined> {
  oneOf("what to list", { "--key": options.key, "--metadata": options.metadata, "--tensors": options.tensors });
  const { choice, query } = settle(given, options.metadata ?? options.tensors);
  const cacheType = cacheTypeGiven(options.cacheType);
  const opened = await openModel(command, choice);
  if (options.key !== undefined) return printKey(command, opened.model, options.key);
  if (options.metadata !== undefined) return printMetadata(command, opened.model, query);
  if (options.tensors !== undefined) return printTensors(command, opened.model, query);
  const target = await targetOf(command, options);
  const overview = await command.client.call(
    "model.overview",
    { model: opened.model, context: target.context, target, cacheType },
    { signal: command.signal },
  );
  noteContext(command, overview.context.trained, options);
  printOverview(command, overview);
  // Last, because it takes a while for a large graph.
  const verdict = overview.canGraph.ok
    ? await verdictOn(command, overview.model, { backend: "coreml", target }, "all", cacheType)
    : null;
  if (verdict !== null) {
    printSpeed(command, verdict, isGraphAlone(overview.kind));
    command.output.line();
    printVerdict(command, verdict, isGraphAlone(overview.kind));
  }
  const routing = await routingOf(command, overview);
  const blocks = overview.canGraph.ok || isGraphAlone(overview.kind) ? null : await blocksOf(command, overview.model);
  command.output.value({ ...overview, verdict, ...routing, ...(blocks === null ? {} : { blocks }) });
  if (blocks === null) printRouting(command, routing);
  else {
    command.output.line();
    printBlocks(command, blocks);
  }
  for (const [reason, whats] of refusals(overview)) command.output.line(`\nNo ${whats.join(", ")}: ${reason}`);
  return undefined;
}

function printOverview(command: Command, view: Overview): void {
  const { output } = command;
  output.line(`${view.title}  ${view.variant}`);
  output.line(view.sentence);
  for (const warning of view.warnings) output.line(`! ${warning}`);
  output.line();
  for (const fact of view.facts) output.line(`${fact.label.padEnd(16)} ${fact.value}`);
  if (view.file)
    output.line(
      `${"file".padEnd(16)} ${view.file.format}, ${view.file.tensorCount} tensors, ${view.file.metadataCount} keys, header ${view.file.headerHash}`,
    );
  if (view.mix.length > 0) {
    output.line();
    const rows = view.mix.map((row) => [
      row.type,
      String(row.tensors),
      bytesText(row.bytes),
      `${(row.share * 100).toFixed(1)} %`,
    ]);
    output.table(["type", "tensors", "bytes", "share"], rows, { right: [1, 2, 3] });
  }
  const [target] = view.forecasts;
  if (target === undefined) return;
  const { title, fit } = target;
  output.line();
  output.line(`Will it fit? (${fit.machine}, ${title}, context ${fit.context})`);
  printSum(command, fit.rows);
  output.line(
    `  ${figureText(fit.total).padStart(FIGURE_WIDTH)}  together, of ${figureText(fit.available)} (${fit.available.basis})`,
  );
  output.line(`  ${fit.sentence}`);
}

/** Reasons with the actions they forbid. One reason often forbids several. */
function refusals(view: Overview): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [what, can] of [
    ["graph", view.canGraph],
    ["run", view.canRun],
    ["export", view.canExport],
  ] as const) {
    if (can.ok) continue;
    const said = view.sentence.startsWith(can.sentence) && can.hint !== null ? "" : `${can.sentence} `;
    const reason = `${said}${can.hint ?? ""}`.trimEnd();
    found.set(reason, [...(found.get(reason) ?? []), what]);
  }
  return found;
}

const PAGE = 1000;

/** The rows of all pages. */
async function allRows<R>(
  pageAt: (offset: number) => Promise<{ readonly rows: readonly R[]; readonly matched: number }>,
): Promise<R[]> {
  const rows: R[] = [];
  for (;;) {
    const page = await pageAt(rows.length);
    rows.push(...page.rows);
    if (rows.length >= page.matched || page.rows.length === 0) return rows;
  }
}

async function printMetadata({ client, output }: Command, model: string, query: string): Promise<undefined> {
  const rows = await allRows((offset) => client.call("model.metadata", { model, query, offset, limit: PAGE }));
  output.value(rows);
  output.table(
    ["key", "type", "value"],
    rows.map((row) => [row.key, row.type, row.preview.replaceAll("\n", "⏎")]),
    { yields: 2 },
  );
  return undefined;
}

async function printKey({ client, output }: Command, model: string, key: string): Promise<undefined> {
  const items: string[] = [];
  for (;;) {
    const page = await client.call("model.metadataValue", { model, key, offset: items.length, limit: PAGE });
    items.push(...page.items);
    if (items.length >= page.total || page.items.length === 0) {
      const [, element = page.type, array] = /^(.*?)(\[\d+\])?$/.exec(page.type) ?? [];
      const single = array === undefined;
      output.value(single ? jsonOf(element, items.join("")) : items.map((item) => jsonOf(element, item)));
      output.line(items.join(single ? "" : "\n"));
      return undefined;
    }
  }
}

/** The value of a text of this type. Stays a text where JSON is not exact: 2^53 and more, NaN. */
function jsonOf(type: string, text: string): string | number | boolean {
  if (type === "bool") return text === "true";
  if (!/^[uif]\d+$/.test(type)) return text;
  const value = Number(text);
  return (type.startsWith("f") ? Number.isFinite(value) : Number.isSafeInteger(value)) ? value : text;
}

/** The tensors whose names or types hold the query. */
export const tensorRows = (
  { client }: Command,
  model: string,
  query: string,
  held: Input<"model.tensors">["held"] = null,
): Promise<TensorRow[]> =>
  allRows((offset) => client.call("model.tensors", { model, query, held, offset, limit: PAGE }));

export async function printTensors(command: Command, model: string, query: string): Promise<undefined> {
  const { output } = command;
  const rows = await tensorRows(command, model, query);
  output.value(rows);
  output.table(
    ["name", "type", "shape", "bytes"],
    rows.map((row) => [row.name, row.type, row.shape.join(" × "), bytesText(row.bytes)]),
    { right: [3] },
  );
  return undefined;
}
