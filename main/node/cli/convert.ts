/** `rlx convert`: writes a model as one GGUF or several, with progress. */
import { resolve } from "node:path";
import { CONVERT_TYPES } from "../../contract/views/convert.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openModel, orList, unfinished, wholeNumber } from "./client.ts";
import { bytesText, figureText } from "./output.ts";
import { percentDone, requireAble } from "./writing.ts";

interface ConvertOptions extends CommonOptions {
  readonly type?: string;
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly splitMaxSize?: string;
  readonly splitMaxTensors?: string;
  readonly dryRun?: boolean;
}

export async function convert(command: Command, choice: ModelChoice, options: ConvertOptions): Promise<number> {
  const { client, output, signal } = command;
  const wanted = {
    type: options.type === undefined ? null : typeOf(options.type),
    splitBytes: options.splitMaxSize === undefined ? null : sizeOf(options.splitMaxSize),
    splitTensors:
      options.splitMaxTensors === undefined ? null : wholeNumber("split-max-tensors", options.splitMaxTensors, 1),
  };
  const { model } = await openModel(command, choice);
  const plan = await client.call("convert.plan", { model, ...wanted }, { signal });
  if (options.dryRun === true) {
    const path = resolve(options.output ?? plan.suggestedPath);
    output.value({ ...plan, path });
    output.line(plan.sentence);
    output.table(
      ["from", "to", "tensors", "bytes"],
      plan.types.map(({ from, to, tensors, bytes }) => [from, to, String(tensors), bytesText(bytes)]),
      { right: [2, 3], yields: 0 },
    );
    output.line(
      plan.parts.length === 1 ? `It would go to ${path}` : `It would go to ${plan.parts.length} files: ${path}`,
    );
    if (!plan.can.ok) output.line(`! ${plan.can.sentence}`);
    return 0;
  }
  requireAble(plan.can, "convert");
  const path = resolve(options.output ?? plan.suggestedPath);
  const input = { model, ...wanted, path, overwrite: options.overwrite === true };
  for await (const item of client.stream("convert.run", input, { signal })) {
    if (item.kind === "progress") {
      output.progress(`${percentDone(item)}${plan.parts.length === 1 ? "" : `  file ${item.part}`}`, "convert");
      continue;
    }
    output.value(item);
    output.line(item.sentence);
    for (const written of item.paths) output.line(written);
    output.line(`${bytesText(item.bytes)} in ${figureText(item.seconds)}`);
    return 0;
  }
  throw unfinished(signal);
}

function typeOf(text: string): (typeof CONVERT_TYPES)[number] {
  const type = CONVERT_TYPES.find((each) => each === text.toLowerCase());
  if (type !== undefined) return type;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx convert] --type: got ${text}, expected ${orList(CONVERT_TYPES)}`, {
    hint: "Leave it out to keep the types that the model has.",
  });
}

const UNITS: Readonly<Record<string, number>> = { "": 1, K: 1e3, M: 1e6, G: 1e9 };

/** "2G": thousands, as other tools count them. */
function sizeOf(text: string): number {
  const [, digits, unit = ""] = /^(\d{1,9})([KMG]?)B?$/iu.exec(text) ?? [];
  const size = Number(digits) * (UNITS[unit.toUpperCase()] ?? 1);
  if (size > 0) return size;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx convert] --split-max-size: got ${text}, expected a size above 0`, {
    hint: "For example 500M or 2G.",
  });
}
