/** `rlx score` and `rlx tokenize`. */
import { availableParallelism } from "node:os";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { OpenModel } from "../../engine/models/openModel.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, oneOf, openModel, wholeNumber } from "./client.ts";
import { noteReference } from "./output.ts";
import { counted } from "../../engine/words.ts";
import { readText, textOrBytes } from "./text.ts";

interface TextOptions extends CommonOptions {
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

async function textOf(options: TextOptions, signal: AbortSignal, flags = "--text or --text-file"): Promise<string> {
  if (options.textFile !== undefined) return readText(options.textFile, signal);
  if (options.text !== undefined) return options.text;
  throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] no text", { hint: `Give ${flags}.` });
}

async function opened(command: Command, choice: ModelChoice): Promise<OpenModel> {
  return command.engine.store.get((await openModel(command, choice)).model);
}

export async function tokenize(command: Command, choice: ModelChoice, options: TextOptions): Promise<undefined> {
  oneOf("the text", { "--text": options.text, "--text-file": options.textFile });
  const text = await textOf(options, command.signal);
  const { tokenizer } = await opened(command, choice);
  const tokens = [...tokenizer.encode(text, { addSpecial: options.special })];
  const pieces = tokens.map((id) => textOrBytes(tokenizer.pieceBytes(id, true)));
  command.output.value({ tokens, pieces });
  command.output.table(
    ["id", "piece"],
    tokens.map((id, i) => [String(id), JSON.stringify(pieces[i] ?? "")]),
    { right: [0], yields: 1 },
  );
  return undefined;
}

/** What a token says. Ids are scored without words too: of a tokenizer that is not known, or behind the end of the vocabulary. */
function pieceOf(model: OpenModel): (id: number) => string {
  try {
    const { tokenizer } = model;
    return (id) => (id < tokenizer.size ? JSON.stringify(textOrBytes(tokenizer.pieceBytes(id, true))) : "");
  } catch (error) {
    if (error instanceof WorkbenchError) return () => "";
    throw error;
  }
}

function parseIds(list: string): number[] {
  return list.split(",").map((part) => wholeNumber("ids", part.trim(), 0, 2 ** 31 - 1));
}

/** {tokens, logprobs, perplexity}; the first token has no log-probability. */
export async function score(command: Command, choice: ModelChoice, options: ScoreOptions): Promise<number> {
  const { output, signal } = command;
  oneOf("the text", { "--ids": options.ids, "--text": options.text, "--text-file": options.textFile });
  const model = await opened(command, choice);
  const tokens =
    options.ids === undefined
      ? [
          ...model.tokenizer.encode(await textOf(options, signal, "--text, --text-file or --ids"), {
            addSpecial: options.special,
          }),
        ]
      : parseIds(options.ids);
  if (tokens.length < 2)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx score] got ${counted(tokens.length, "token")}, expected at least 2`,
      {
        hint: "Give more.",
      },
    );
  const { context } = model.description;
  if (context !== undefined && tokens.length > context)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[rlx score] got ${tokens.length} tokens, expected at most ${context}: the model knows no further positions`,
      { hint: "Score the text in parts." },
    );
  if (options.cache !== "f16" && options.cache !== "f32")
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --cache: got ${options.cache}, expected f16 or f32`);
  // The type of the cache is asked for, so the device compiles the graph itself.
  const device = await deviceOption(command, options.device, "graphs");
  const lease = await command.engine.decoders.lease(model, {
    device,
    context: tokens.length + 1,
    threads: options.threads === undefined ? availableParallelism() : wholeNumber("threads", options.threads, 1, 1024),
    cacheType: options.cache,
    standIn: true,
    chunk: wholeNumber("chunk", options.chunk, 1, 65_536),
  });
  try {
    noteReference(output, lease.reference);
    const all = await lease.session.score(tokens, {
      signal,
      onProgress: (done, total) => output.progress(`${done} of ${total} tokens`, "score"),
    });
    const known = [...all].slice(1);
    const perplexity = Math.exp(-known.reduce((sum, value) => sum + value, 0) / known.length);
    output.value({ tokens, logprobs: [null, ...known], perplexity, reference: lease.reference });
    const piece = pieceOf(model);
    output.table(
      ["id", "piece", "log-probability"],
      tokens.map((id, i) => [String(id), piece(id), i === 0 ? "" : (all[i] ?? NaN).toFixed(5)]),
      { right: [0, 2], yields: 1 },
    );
    output.line(`\nperplexity ${perplexity.toFixed(4)} over ${counted(known.length, "token")}`);
    return 0;
  } finally {
    await lease.release();
  }
}
