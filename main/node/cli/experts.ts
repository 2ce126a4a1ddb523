/** `rlx experts`: layers × experts of a mixture, by the tokens of a text that each took. */
import type { ReferenceNotice } from "../../contract/views/common.ts";
import type { ExpertsDone } from "../../contract/views/score.ts";
import { counted } from "../../engine/words.ts";
import type { Command, ModelChoice } from "./client.ts";
import { deviceOption, oneOf, openModel, unfinished, wholeNumber } from "./client.ts";
import { noteReference } from "./output.ts";
import type { TextOptions } from "./score.ts";
import { sourceOf } from "./score.ts";

interface ExpertsOptions extends TextOptions {
  readonly ids?: string;
  readonly threads?: string;
  readonly device: string;
}

/** Busiest experts of a layer that a line names. */
const NAMED = 4;
/** From none to as many as the busiest expert of all took. */
const SHADES = " ░▒▓█";
/** Columns of shades; more experts than that are only named. */
const WIDEST = 64;

export async function experts(command: Command, choice: ModelChoice, options: ExpertsOptions): Promise<number> {
  const { output, signal } = command;
  oneOf("the text", { "--ids": options.ids, "--text": options.text, "--text-file": options.textFile });
  const { model } = await openModel(command, choice);
  const input = {
    model,
    source: await sourceOf(command, options),
    device: await deviceOption(command, options.device, "graphs"),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  };
  let reference: ReferenceNotice | null = null;
  for await (const item of command.client.stream("experts.run", input, { signal })) {
    if (item.kind === "start") noteReference(output, (reference = item.reference));
    else if (item.kind === "progress") output.progress(`${item.done} of ${item.total} tokens`, "experts");
    else return printUse(command, item, reference);
  }
  throw unfinished(signal);
}

function printUse({ output }: Command, { tokens, layers }: ExpertsDone, reference: ReferenceNotice | null): number {
  output.value({ tokens, layers: layers.map(({ layer, counts }) => ({ layer, counts: [...counts] })), reference });
  const most = layers.reduce((all, { counts }) => counts.reduce((a, b) => Math.max(a, b), all), 1);
  const isNarrow = layers.every(({ counts }) => counts.length <= WIDEST);
  output.table(
    ["layer", "used", "busiest", ...(isNarrow ? ["experts"] : [])],
    layers.map(({ layer, counts }) => [
      String(layer),
      `${counts.filter((count) => count > 0).length} of ${counts.length}`,
      busiest(counts, tokens),
      ...(isNarrow ? [shades(counts, most)] : []),
    ]),
    { right: [0], yields: 1 },
  );
  output.line(`\n${counted(tokens, "token")} read`);
  return 0;
}

const shades = (counts: Uint32Array, most: number): string =>
  `|${Array.from(counts, (count) => SHADES[Math.ceil((count / most) * (SHADES.length - 1))] ?? "").join("")}|`;

/** "5 (62 %), 0 (31 %)": of the tokens; each token has several experts. */
function busiest(counts: Uint32Array, tokens: number): string {
  return [...counts.keys()]
    .filter((expert) => (counts[expert] ?? 0) > 0)
    .sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0))
    .slice(0, NAMED)
    .map((expert) => `${expert} (${Math.round((100 * (counts[expert] ?? 0)) / tokens)} %)`)
    .join(", ");
}
