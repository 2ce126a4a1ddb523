/** `rlx quantize`: writes a model in other types, with progress, and reports what each tensor lost. */
import { resolve } from "node:path";
import type { StreamItemOf } from "../../contract/contract.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { openModel, unfinished } from "./client.ts";
import { bytesText, figureText } from "./output.ts";
import { percentDone, requireAble } from "./writing.ts";

interface QuantizeOptions extends CommonOptions {
  readonly to: string;
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly tensorType?: readonly string[];
  readonly outputType?: string;
  readonly embeddingType?: string;
  readonly pure?: boolean;
  readonly imatrix?: string;
  readonly dryRun?: boolean;
}

type Done = Extract<StreamItemOf<"quantize.run">, { readonly kind: "done" }>;

export async function quantize(command: Command, choice: ModelChoice, options: QuantizeOptions): Promise<number> {
  const { client, output, signal } = command;
  const { model } = await openModel(command, choice);
  const wanted = {
    model,
    recipe: options.to.toLowerCase(),
    overrides: (options.tensorType ?? []).map(overrideOf),
    pure: options.pure === true,
    ...(options.outputType === undefined ? {} : { output: options.outputType.toLowerCase() }),
    ...(options.embeddingType === undefined ? {} : { embedding: options.embeddingType.toLowerCase() }),
    ...(options.imatrix === undefined ? {} : { importance: resolve(options.imatrix) }),
  };
  const plan = await client.call("quantize.plan", wanted, { signal });
  requireAble(plan.can, "quantize");
  output.line(plan.sentence);
  output.table(
    ["type", "tensors", "bytes"],
    plan.types.map(({ type, tensors, bytes }) => [type, String(tensors), bytesText(bytes)]),
    { right: [1, 2] },
  );
  const path = options.dryRun === true ? {} : { path: resolve(options.output ?? plan.suggestedPath) };
  const input = { ...wanted, ...path, overwrite: options.overwrite === true };
  for await (const item of client.stream("quantize.run", input, { signal })) {
    if (item.kind === "done") {
      report(command, item);
      return 0;
    }
    output.progress(`${percentDone(item)}  ${item.tensor}`, "quantize");
  }
  throw unfinished(signal);
}

function report({ output }: Command, done: Done): void {
  output.value(done);
  output.line(done.sentence);
  if (done.path !== null) output.line(`${done.path}: ${bytesText(done.bytes)} in ${figureText(done.seconds)}`);
  const worst = done.tensors
    .filter(({ relativeRms }) => relativeRms > 0)
    .toSorted((a, b) => b.relativeRms - a.relativeRms)
    .slice(0, 10);
  if (worst.length === 0) return;
  output.line("\nLargest errors:");
  output.table(
    ["tensor", "from", "to", "rms"],
    worst.map(({ name, from, to, relativeRms }) => [name, from, to, `${(100 * relativeRms).toFixed(2)} %`]),
    { right: [3], yields: 0 },
  );
}

function overrideOf(text: string): { readonly pattern: string; readonly type: string } {
  const at = text.lastIndexOf("=");
  if (at > 0 && at < text.length - 1) return { pattern: text.slice(0, at), type: text.slice(at + 1).toLowerCase() };
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx quantize] --tensor-type: got ${text}, expected pattern=type`, {
    hint: "For example --tensor-type '*ffn_down*=q6_k'.",
  });
}
