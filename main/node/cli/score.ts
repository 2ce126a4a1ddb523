/** `rlx score` and `rlx tokenize`. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ReferenceNotice } from "../../contract/views/common.ts";
import type { ScoreItem } from "../../contract/views/score.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, oneOf, openModel, unfinished, wholeNumber } from "./client.ts";
import { cacheTypeNamed } from "./precision.ts";
import { noteReference } from "./output.ts";
import { counted } from "../../engine/words.ts";
import type { TextReader } from "./text.ts";
import { readText } from "./text.ts";

export interface TextOptions extends CommonOptions {
  readonly text?: string;
  readonly textFile?: string;
  /** false with --no-special. */
  readonly special: boolean;
}

interface ScoreOptions extends TextOptions {
  readonly ids?: string;
  readonly threads?: string;
  readonly device: string;
  readonly cache: string;
  readonly chunk: string;
}

async function textOf(options: TextOptions, reader: TextReader, flags = "--text or --text-file"): Promise<string> {
  if (options.textFile !== undefined) return readText(options.textFile, reader);
  if (options.text !== undefined) return options.text;
  throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] no text", { hint: `Give ${flags}.` });
}

export async function tokenize(command: Command, choice: ModelChoice, options: TextOptions): Promise<undefined> {
  oneOf("the text", { "--text": options.text, "--text-file": options.textFile });
  const text = await textOf(options, command);
  const { model } = await openModel(command, choice);
  const { signal } = command;
  const said = await command.client.call("tokens.encode", { model, text, addSpecial: options.special }, { signal });
  const [tokens, pieces] = [[...said.tokens], said.pieces];
  command.output.value({ tokens, pieces });
  command.output.table(
    ["id", "piece"],
    tokens.map((id, i) => [String(id), JSON.stringify(pieces[i] ?? "")]),
    { right: [0], yields: 1 },
  );
  return undefined;
}

function parseIds(list: string): Int32Array {
  return Int32Array.from(list.split(","), (part) => wholeNumber("ids", part.trim(), 0, 2 ** 31 - 1));
}

/** The text or the ids that are asked for. */
export async function sourceOf(command: Command, options: TextOptions & Pick<ScoreOptions, "ids">) {
  return options.ids === undefined
    ? {
        kind: "text" as const,
        text: await textOf(options, command, "--text, --text-file or --ids"),
        addSpecial: options.special,
      }
    : { kind: "tokens" as const, tokens: parseIds(options.ids) };
}

/** {tokens, logprobs, perplexity}; the first token has no log-probability. */
export async function score(command: Command, choice: ModelChoice, options: ScoreOptions): Promise<number> {
  const { output, signal } = command;
  oneOf("the text", { "--ids": options.ids, "--text": options.text, "--text-file": options.textFile });
  const { model } = await openModel(command, choice);
  const input = { model, source: await sourceOf(command, options), ...(await howToScore(command, options)) };
  let reference: ReferenceNotice | null = null;
  for await (const item of command.client.stream("score.run", input, { signal })) {
    if (item.kind === "start") noteReference(output, (reference = item.reference));
    else if (item.kind === "progress") output.progress(`${item.done} of ${item.total} tokens`, "score");
    else return printScore(command, item, reference);
  }
  throw unfinished(signal);
}

async function howToScore(command: Command, { cache, device, threads, chunk }: ScoreOptions) {
  return {
    cache: cacheTypeNamed("cache", cache),
    // The type of the cache is asked for, so the device compiles the graph itself.
    device: await deviceOption(command, device, "graphs"),
    threads: threads === undefined ? null : wholeNumber("threads", threads, 1, 1024),
    chunk: wholeNumber("chunk", chunk, 1, 65_536),
  } as const;
}

function printScore(
  { output }: Command,
  { tokens, pieces, logprobs, perplexity }: Extract<ScoreItem, { readonly kind: "done" }>,
  reference: ReferenceNotice | null,
): number {
  const known = [...logprobs].slice(1);
  output.value({ tokens: [...tokens], logprobs: [null, ...known], perplexity, reference });
  const pieceText = (piece: string | null | undefined): string =>
    piece === null || piece === undefined ? "" : JSON.stringify(piece);
  output.table(
    ["id", "piece", "log-probability"],
    Array.from(tokens, (id, i) => [String(id), pieceText(pieces[i]), i === 0 ? "" : (logprobs[i] ?? NaN).toFixed(5)]),
    { right: [0, 2], yields: 1 },
  );
  output.line(`\nperplexity ${perplexity.toFixed(4)} over ${counted(known.length, "token")}`);
  return 0;
}
