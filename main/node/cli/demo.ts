/** `rlx run --demo`: the demo graph, its segments on Core ML or the simulator and the rest on the host. */
import type { Command } from "./client.ts";
import { openModel, targetOf, wholeNumber } from "./client.ts";
import { bytesText, figureText } from "./output.ts";

export async function runDemo(
  command: Command,
  options: { readonly device: string; readonly seed?: string },
): Promise<number> {
  const { output, client, signal } = command;
  const { model } = await openModel(command, { file: undefined, offer: "demo-hybrid" });
  const target = await targetOf(command, {});
  const seed = options.seed === undefined ? 1 : wholeNumber("seed", options.seed, 0, 4_294_967_295);
  // Beside Core ML only its simulator runs a hybrid graph: nothing else has segments.
  const device = options.device === "coreml" ? "coreml" : "coreml-sim";
  const view = await client.call("hybrid.run", { model, device, target, seed }, { signal });
  output.value(view);
  output.line(view.sentence);
  output.line();
  output.table(
    ["segment", "device", "what", "time", "bytes in", "bytes out"],
    view.segments.map((part) => [
      String(part.index),
      part.device,
      part.title,
      figureText(part.seconds),
      bytesText(part.bytesIn),
      bytesText(part.bytesOut),
    ]),
    { right: [0, 3, 4, 5], yields: 2 },
  );
  output.line();
  output.table(
    ["output", "type", "least", "most", "mean"],
    view.outputs.map(({ name, type, min, max, mean }) => [
      name,
      type,
      ...[min, max, mean].map((value) => String(Number(value.toPrecision(4)))),
    ]),
    { right: [2, 3, 4] },
  );
  output.line();
  output.line(view.agreement.sentence);
  return 0;
}
