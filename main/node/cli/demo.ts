/** `rlx run --demo`: the demo graph, its segments on Core ML or the simulator and the rest on the host. */
import { DEFAULT_DEVICE } from "../../contract/views/engine.ts";
import type { Command, ModelChoice, TargetOptions } from "./client.ts";
import { deviceOption, openModel, targetOf, wholeNumber } from "./client.ts";
import { bytesText, figureText } from "./output.ts";

export async function runDemo(
  command: Command,
  choice: ModelChoice,
  options: TargetOptions & { readonly device: string; readonly seed?: string },
): Promise<number> {
  const { output, client, signal } = command;
  // The default device runs the host part. Without --device, the first device with segments runs those.
  const device =
    options.device === DEFAULT_DEVICE
      ? null
      : await deviceOption(command, options.device, "segments", "--device with --demo");
  const { model } = await openModel(command, choice);
  const target = await targetOf(command, options);
  const seed = options.seed === undefined ? 1 : wholeNumber("seed", options.seed, 0, 4_294_967_295);
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
