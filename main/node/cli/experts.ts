/** `rlx experts` and `rlx run --experts`: layers × experts of a mixture, by the tokens of a text that each took. */
import type { StreamInputOf } from "../../contract/contract.ts";
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
  oneOf("the text", { "--ids": options.ids, "--text": options.text, "--text-file": options.textFile });
  const { model } = await openModel(command, choice);
  const { use, reference } = await countExperts(command, {
    model,
    source: await sourceOf(command, options),
    device: await deviceOption(command, options.device, "graphs"),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  });
  noteReference(command.output, reference);
  command.output.value({ ...countsOf(use), reference });
  printUse(command, use);
  return 0;
}

/** Reads a text, or ids, and counts which experts its tokens take. */
export async function countExperts(
  { client, output, signal }: Command,
  input: StreamInputOf<"experts.run">,
): Promise<{ readonly use: ExpertsDone; readonly reference: ReferenceNotice | null }> {
  let reference: ReferenceNotice | null = null;
  for await (const item of client.stream("experts.run", input, { signal })) {
    if (item.kind === "start") ({ reference } = item);
    else if (item.kind === "progress") output.progress(`${item.done} of ${item.total} tokens`, "experts");
    else return { use: item, reference };
  }
  throw unfinished(signal);
}

/** As JSON. */
export const countsOf = ({
  tokens,
  layers,
}: ExpertsDone): { tokens: number; layers: readonly { layer: number; counts: number[] }[] } => ({
  tokens,
  layers: layers.map(({ layer, counts }) => ({ layer, counts: [...counts] })),
});

export function printUse({ output }: Command, { tokens, layers }: ExpertsDone): void {
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
