/** `rlx choose`: which of several files of one model to take, by their answers and their speed on this machine. */
import { choose } from "../../contract/choice.ts";
import type { Choice } from "../../contract/choice.ts";
import type { BenchResult } from "../../contract/views/bench.ts";
import type { QualityResult } from "../../contract/views/quality.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, ModelChoice } from "./client.ts";
import { deviceOption, oneOf, openModel, unfinished, wholeNumber } from "./client.ts";
import { bytesText, noteReference, phaseText } from "./output.ts";
import type { TextOptions } from "./score.ts";
import { sourceOf } from "./score.ts";

interface ChooseOptions extends TextOptions {
  readonly ids?: string;
  readonly also?: readonly string[];
  readonly most: string;
  readonly within: string;
  readonly device: string;
  readonly threads?: string;
  /** false with --no-speed. */
  readonly speed: boolean;
  readonly warn?: boolean;
}

export async function chooseFile(command: Command, choice: ModelChoice, options: ChooseOptions): Promise<number> {
  oneOf("the text", { "--ids": options.ids, "--text": options.text, "--text-file": options.textFile });
  const within = closeness(options.within);
  if (options.also === undefined || options.also.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] choose: got one file, expected several", {
      hint: "Name the others: rlx choose f16.gguf --also q8.gguf --also q4.gguf --text-file story.txt.",
    });
  const shared = {
    device: await deviceOption(command, options.device, "graphs"),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
  };
  const source = await sourceOf(command, options);
  const { model } = await openModel(command, choice);
  const others: string[] = [];
  for (const file of options.also)
    others.push((await openModel(command, { file, offer: undefined, adapters: [] })).model);
  const most = wholeNumber("most", options.most, 2, 65_536);
  const quality = await qualityOf(command, { model, others, source, most, ...shared });
  const conditions = options.warn === true ? ("warn" as const) : ("wait" as const);
  const speed = options.speed ? await speedOf(command, { model, others, conditions, ...shared }) : null;
  print(command, quality, speed, choose(quality, speed, within));
  return 0;
}

function closeness(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 100) return value;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --within: got ${text}, expected 0 to 100 nats`);
}

async function qualityOf(
  { client, output, signal }: Command,
  input: Parameters<typeof client.stream<"quality.run">>[1],
): Promise<QualityResult> {
  for await (const item of client.stream("quality.run", input, { signal })) {
    if (item.kind === "start") noteReference(output, item.reference);
    else if (item.kind === "progress")
      output.progress(`${item.title}: ${item.done} of ${item.total} tokens`, item.title);
    else return item;
  }
  throw unfinished(signal);
}

/** Prompts of 128 and answers of 32 tokens, in turn. */
async function speedOf(
  { client, output, signal }: Command,
  subjects: Pick<
    Parameters<typeof client.stream<"bench.run">>[1],
    "model" | "others" | "conditions" | "threads" | "device"
  >,
): Promise<BenchResult> {
  const input = { ...subjects, promptTokens: 128, generateTokens: 32 };
  for await (const item of client.stream("bench.run", input, { signal })) {
    if (item.kind === "done") return item;
    if (item.kind === "phase") output.progress(phaseText(item), item.name);
    else if (item.kind === "sample") output.progress(`speed: ${item.done} of ${item.total}`, "speed");
  }
  throw unfinished(signal);
}

function print(
  { output }: Command,
  quality: QualityResult,
  speed: BenchResult | null,
  { rows, ...choice }: Choice,
): void {
  const { tokens, textTokens } = quality;
  output.value({ tokens, textTokens, rows, ...choice, red: speed?.red ?? [] });
  output.table(
    ["file", "size", "bits", "perplexity", "KL", "same top", "prefill", "decode", ""],
    rows.map((row, at) => [
      row.title,
      bytesText(row.bytes),
      row.bitsPerWeight?.toFixed(2) ?? "",
      row.perplexity.toFixed(3),
      row.divergence === null ? "reference" : `${row.divergence.mean.toFixed(4)} ± ${row.divergence.error.toFixed(4)}`,
      row.sameTop === null ? "" : `${(row.sameTop * 100).toFixed(1)} %`,
      row.prefill === null ? "" : `${row.prefill.toFixed(1)} tok/s`,
      row.decode === null ? "" : `${row.decode.toFixed(1)} tok/s`,
      at === choice.taken ? "take this" : row.beaten ? "beaten" : row.close ? "" : "not close",
    ]),
    { right: [1, 2, 3, 4, 5, 6, 7], yields: 0 },
  );
  const part = tokens < textTokens ? `the first ${tokens} of ${textTokens} tokens` : `${tokens} tokens`;
  output.line(`\nOver ${part}. ${choice.sentence}`);
}
