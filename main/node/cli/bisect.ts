/** `rlx bisect`: which pass changed the result of a graph in text, or lost the routing of a model. */
import { distanceText } from "../../contract/distance.ts";
import { ROUTED } from "../../contract/views/graph.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, ModelChoice } from "./client.ts";
import type { PassesOptions } from "./graph.ts";
import { backendOf, passes, precisionOf } from "./graph.ts";
import type { ValueOptions } from "./graphRuns.ts";
import { graphDevice, valuesOf } from "./graphRuns.ts";
import { isGraphText, namedText } from "./graphText.ts";

interface BisectOptions extends PassesOptions, ValueOptions {
  readonly watch?: string;
  readonly device?: string;
  readonly tolerance?: string;
}

export async function bisect(command: Command, choice: ModelChoice, options: BisectOptions): Promise<undefined> {
  const { device, watch, tolerance, input, symbol, seed, ...common } = options;
  if (isGraphText(choice.file)) return ofText(command, choice.file, options);
  if ([device, tolerance, seed, input, symbol].some((given) => given !== undefined && given.length > 0))
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx bisect] got options of a run, expected a graph in text", {
      hint: "The result of a model's file is held against others by `rlx score` and `rlx diff`; here its routing is watched.",
    });
  const otherwise = backendOf(options) === ROUTED.backend ? "ane" : "ops";
  return passes(command, choice, { ...common, bisect: watch ?? otherwise, watchedBy: "watch" });
}

async function ofText(command: Command, file: string, options: BisectOptions): Promise<undefined> {
  const { client, output, signal } = command;
  if (options.watch !== undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx bisect] --watch: got ${options.watch}, expected a model's file`, {
      hint: "Of a graph in text the result is watched; leave --watch out.",
    });
  const device = await graphDevice(command, options.device ?? "cpu", ["graphs", "segments"]);
  const found = await client.call(
    "text.bisect",
    {
      ...(await namedText(file, command)),
      ...{ device, precision: precisionOf(options, "cpu"), ...valuesOf("rlx bisect", options) },
      ...(options.tolerance === undefined ? {} : { tolerance: toleranceOf(options.tolerance) }),
    },
    { signal },
  );
  output.value(found);
  output.line(found.sentence);
  output.line();
  output.table(
    ["step", "nodes", "hits", "change", "from the reference"],
    found.steps.map(({ name, nodes, hits, change, error }) => [
      name,
      String(nodes),
      String(hits),
      distanceText(change),
      distanceText(error),
    ]),
    { right: [1, 2, 3, 4], yields: 0 },
  );
  return undefined;
}

function toleranceOf(text: string): number {
  const value = Number(text);
  if (text !== "" && value >= 0 && value <= 1) return value;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx bisect] --tolerance: got ${text}, expected a number from 0 to 1`, {
    hint: "1e-5 is what rounding in f32 may do.",
  });
}
