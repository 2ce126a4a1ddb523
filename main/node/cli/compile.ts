/** `rlx compile`: writes the .mlpackage, with progress, and reports how each weight was mapped. */
import { stat } from "node:fs/promises";
import { dirname, extname, resolve } from "node:path";
import type { ExportPlan } from "../../contract/views/export.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openForTarget, unfinished } from "./client.ts";
import { valuesOf } from "./graphRuns.ts";
import { bytesText, figureText } from "./output.ts";
import { percentDone, requireAble } from "./writing.ts";

interface CompileOptions extends CommonOptions {
  readonly symbol?: readonly string[];
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
}

export async function compile(command: Command, choice: ModelChoice, options: CompileOptions): Promise<number> {
  const { client, output } = command;
  const { model, target, canExport } = await openForTarget(command, choice, options);
  const { symbols } = valuesOf("rlx compile", { symbol: options.symbol ?? [] });
  const asked = { model, target, ...(Object.keys(symbols ?? {}).length > 0 && { symbols }) };
  // A plan compiles and lowers the graph, as the export does. Only what is asked for is planned.
  const planned = (): Promise<ExportPlan> => client.call("export.plan", asked, { signal: command.signal });
  const plan = options.dryRun === true ? await planned() : undefined;
  const path = resolve(options.output ?? (plan ?? (await planned())).suggestedPath);
  const overwrite = options.overwrite === true;
  if (extname(path) !== ".mlpackage")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx compile] ${path}: expected a name that ends in .mlpackage`, {
      hint: "Core ML knows packages by that ending.",
    });
  if (plan !== undefined) {
    if (plan.forms.length === 0) requireAble(plan.can, "compile");
    const taken = !overwrite && (await isTaken(path));
    const folderExists = (await stat(dirname(path)).catch(() => undefined))?.isDirectory() === true;
    output.value({ ...plan, path, taken, folderExists });
    output.line(plan.sentence);
    if (!folderExists) output.line(`! the folder ${dirname(path)} does not exist: create it first, or choose another`);
    else
      output.line(taken ? `! ${path} exists already: choose another name, or --overwrite` : `It would go to ${path}`);
    output.table(
      ["type", "form", "bits", "tensors"],
      plan.forms.map((row) => [row.source, row.form, row.bitsPerWeight.toFixed(3), String(row.tensors)]),
      { right: [2, 3], yields: 0 },
    );
    if (!plan.can.ok) output.line(`! ${plan.can.sentence}`);
    return 0;
  }
  requireAble(canExport, "compile");
  if (!overwrite) await refuseTaken(path);
  for await (const item of client.stream("export.start", { ...asked, path, overwrite }, { signal: command.signal })) {
    if (item.kind === "phase") output.progress(item.sentence, item.name);
    else if (item.kind === "progress") output.progress(`${percentDone(item)}  ${item.tensor}`, "weights");
    else {
      output.value(item);
      output.line(item.sentence);
      output.line(
        `${item.path}: ${bytesText(item.bytes)} (${item.ratioToSource.toFixed(3)} × the file) in ${figureText(item.seconds)}, functions ${item.functions.join(", ")}`,
      );
      const worst = [...item.weights].sort((a, b) => b.relativeRms - a.relativeRms).slice(0, 10);
      if (worst.length === 0) return 0;
      output.line(`\nLargest errors of ${item.weights.length} weights:`);
      output.table(
        ["weight", "from", "form", "bits", "rms"],
        worst.map((w) => [w.name, w.source, w.form, w.bitsPerWeight.toFixed(3), w.relativeRms.toExponential(2)]),
        { right: [3, 4], yields: 0 },
      );
      return 0;
    }
  }
  throw unfinished(command.signal);
}

const isTaken = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;

/** The engine's own refusal, with this command's flag as the hint. */
async function refuseTaken(path: string): Promise<void> {
  if (!(await isTaken(path))) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx compile] ${path} exists already`, {
    hint: "Choose another name, or --overwrite.",
  });
}
