/** `rlx route --mlx`: MLX as the alternative to Core ML, as the window's routing view shows it. */
import type { GraphView } from "../../contract/views/graph.ts";
import type { MlxRoute } from "../../contract/views/mlx.ts";
import { mlxStateOf } from "../../contract/views/mlx.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { oneOf, openForTarget } from "./client.ts";
import { phaseOf } from "./graph.ts";
import type { Output } from "./output.ts";
import { bytesText, figureText } from "./output.ts";

export async function routeOnMlx(
  command: Command,
  choice: ModelChoice,
  options: CommonOptions & { readonly ops?: boolean },
): Promise<number> {
  const { chip, os, units, profile } = options;
  for (const [flag, value] of Object.entries({ "--chip": chip, "--os": os, "--units": units, "--profile": profile }))
    oneOf("where to run", { "--mlx": true, [flag]: value });
  const { client, output, signal } = command;
  const phase = phaseOf(options);
  const { model, target } = await openForTarget(command, choice, options);
  const view = await client.call("route.mlx", { model, phase, context: target.context }, { signal });
  output.value(view);
  output.line(`${view.sentence}\n`);
  printOps(output, view);
  printWeights(output, view);
  output.line(`\n${timeText(view)}`);
  if (options.ops === true && !output.json) {
    const graph = await client.call("graph.get", view.key, { signal });
    output.line();
    output.table(["", "op", "name", "on MLX", "reason"], nodeRows(view, graph), { right: [0], yields: 4 });
  }
  return 0;
}

function printOps(output: Output, { ops }: MlxRoute): void {
  const rows = ops.map(({ op, count, state, reason, parts }) => [
    op,
    String(count),
    state,
    state === "decomposed" ? `${reason} As ${parts.join(", ")}.` : reason,
  ]);
  output.table(["op", "count", "on MLX", "reason"], rows, { right: [1], yields: 3, by: "wrap" });
}

function printWeights(output: Output, { weights, heldBytes }: MlxRoute): void {
  if (weights.length === 0) return;
  const rows = weights.map((row) => [
    row.type.toUpperCase(),
    String(row.tensors),
    row.form,
    row.bitsPerWeight.toFixed(3),
    bytesText(row.fileBytes),
    figureText(row.heldBytes),
    row.error === null ? "not known: no data" : row.error.value === 0 ? "exact" : row.error.value.toExponential(1),
  ]);
  output.line();
  output.table(["weights", "tensors", "on MLX", "bits", "in the file", "held", "error"], rows, {
    right: [1, 3, 4, 5, 6],
    yields: 2,
  });
  if (heldBytes !== null) output.line(`together ${figureText(heldBytes)} held`);
}

function timeText({ seconds, phase, arithmetic, whyNoTime }: MlxRoute): string {
  if (seconds === null) return whyNoTime ?? "No time.";
  const what = phase === "decode" ? "one token" : "one chunk";
  return `${what} in ${figureText(seconds)} (${seconds.truth}): ${arithmetic.map(({ value }) => value).join(", ")}`;
}

function nodeRows(view: MlxRoute, graph: GraphView): string[][] {
  const named = (index: number | undefined): string => graph.strings[index ?? 0] ?? "";
  return Array.from(view.nodes.state).flatMap((code, node) =>
    mlxStateOf(code) === "none"
      ? []
      : [
          [
            String(node),
            named(graph.nodes.op[node]),
            named(graph.nodes.name[node]),
            mlxStateOf(code),
            view.strings[view.nodes.reason[node] ?? 0] ?? "",
          ],
        ],
  );
}
