/** `rlx embed` and `rlx rerank`. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ReferenceNotice } from "../../contract/views/common.ts";
import type { Embedded, Reranked } from "../../contract/views/embed.ts";
import { POOLINGS } from "../../contract/views/embed.ts";
import { counted } from "../../engine/words.ts";
import type { Command, CommonOptions, ModelChoice } from "./client.ts";
import { deviceOption, openModel, orList, unfinished, wholeNumber } from "./client.ts";
import { noteReference } from "./output.ts";
import type { TextReader } from "./text.ts";
import { readText, STANDARD_INPUT } from "./text.ts";

interface HowOptions extends CommonOptions {
  readonly lines?: string;
  readonly threads?: string;
  readonly device: string;
}

interface EmbedOptions extends HowOptions {
  readonly text?: readonly string[];
  readonly pooling?: string;
  /** false with --no-normalise. */
  readonly normalise: boolean;
  readonly similarity?: boolean;
}

interface RerankOptions extends HowOptions {
  readonly query?: string;
  readonly document?: readonly string[];
}

type Pooling = (typeof POOLINGS)[number];

function poolingOption(text: string | undefined): Pooling | null {
  if (text === undefined) return null;
  const found = POOLINGS.find((name) => name === text);
  if (found !== undefined) return found;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx] --pooling: got ${text}, expected ${orList([...POOLINGS])}`);
}

/** Texts of the options, then the lines of a file; of standard input where nothing else was given. */
async function textsOf(given: readonly string[], lines: string | undefined, reader: TextReader): Promise<string[]> {
  if (given.length > 0 && lines === undefined) return [...given];
  const text = await readText(lines ?? STANDARD_INPUT, reader);
  const read = text.split(/\r?\n/u).filter((line) => line !== "");
  const all = [...given, ...read];
  if (all.length > 0) return all;
  throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] no text: got nothing but empty lines", {
    hint: "Give a text in each line.",
  });
}

const howTo = async (command: Command, { device, threads }: HowOptions) => ({
  device: await deviceOption(command, device),
  threads: threads === undefined ? null : wholeNumber("threads", threads, 1, 1024),
});

/** {pooling, normalised, width, labels, texts: [{tokens, vectors}], similarity}: `vectors` has a row for each token, or one. */
export async function embed(command: Command, choice: ModelChoice, options: EmbedOptions): Promise<number> {
  const { client, output, signal } = command;
  const pooling = poolingOption(options.pooling);
  const texts = await textsOf(options.text ?? [], options.lines, command);
  const { model } = await openModel(command, choice);
  const input = {
    ...{ model, texts, pooling, normalise: options.normalise, similarity: options.similarity === true },
    ...(await howTo(command, options)),
  };
  let reference: ReferenceNotice | null = null;
  for await (const item of client.stream("embed.run", input, { signal })) {
    if (item.kind === "start") noteReference(output, (reference = item.reference));
    else if (item.kind === "progress") output.progress(`${item.done} of ${counted(item.total, "text")}`, "embed");
    else if (item.kind === "phase") output.progress(item.sentence, item.name);
    else return printVectors(command, texts, item, reference);
  }
  throw unfinished(signal);
}

const rowsOf = (data: Float32Array, width: number): number[][] =>
  Array.from({ length: width === 0 ? 0 : data.length / width }, (_, r) => [
    ...data.subarray(r * width, (r + 1) * width),
  ]);

const SHOWN = 6;
const shortened = (text: string): string => (text.length > 40 ? `${text.slice(0, 39)}…` : text);
const numberText = (value: number): string => value.toFixed(4);

function printVectors(
  { output }: Command,
  asked: readonly string[],
  { pooling, normalised, width, labels, texts, similarity }: Embedded,
  reference: ReferenceNotice | null,
): number {
  const each = texts.map(({ tokens, vectors }) => ({ tokens, vectors: rowsOf(vectors, width) }));
  const cosines = similarity && rowsOf(similarity, asked.length);
  output.value({ pooling, normalised, width, labels, texts: each, similarity: cosines, reference });
  const first = (row: readonly number[]): string =>
    `${row.slice(0, SHOWN).map(numberText).join(" ")}${row.length > SHOWN ? " …" : ""}`;
  output.table(
    ["text", "tokens", labels.length > 0 ? labels.join(" ") : "vector"],
    each.flatMap(({ tokens, vectors }, i) =>
      vectors.map((row, r) => [
        r === 0 ? JSON.stringify(shortened(asked[i] ?? "")) : "",
        r === 0 ? String(tokens) : "",
        first(row),
      ]),
    ),
    { right: [1], yields: 0 },
  );
  if (labels.length === 0)
    output.line(`\n${counted(width, "number")} each, pooling ${pooling}${normalised ? ", of length 1" : ""}`);
  if (cosines !== null) {
    output.line();
    output.table(
      ["cosine", ...asked.map((_, i) => String(i + 1))],
      cosines.map((row, i) => [`${i + 1} ${JSON.stringify(shortened(asked[i] ?? ""))}`, ...row.map(numberText)]),
      { right: asked.map((_, i) => i + 1), yields: 0 },
    );
  }
  return 0;
}

/** {by, results: [{document, text, score, tokens}]}, the best first; `document` counts from 0. */
export async function rerank(command: Command, choice: ModelChoice, options: RerankOptions): Promise<number> {
  const { client, output, signal } = command;
  const { query } = options;
  if (query === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] no query: expected --query <text>", {
      hint: 'Say what the documents have to answer, for example -q "What is a panda?".',
    });
  const documents = await textsOf(options.document ?? [], options.lines, command);
  const { model } = await openModel(command, choice);
  const input = { model, query, documents, ...(await howTo(command, options)) };
  let reference: ReferenceNotice | null = null;
  for await (const item of client.stream("rerank.run", input, { signal })) {
    if (item.kind === "start") noteReference(output, (reference = item.reference));
    else if (item.kind === "progress") output.progress(`${item.done} of ${counted(item.total, "text")}`, "rerank");
    else if (item.kind === "phase") output.progress(item.sentence, item.name);
    else return printRanks(command, documents, item, reference);
  }
  throw unfinished(signal);
}

function printRanks(
  { output }: Command,
  documents: readonly string[],
  { by, results }: Reranked,
  reference: ReferenceNotice | null,
): number {
  const named = results.map((result) => ({ ...result, text: documents[result.document] ?? "" }));
  output.value({ by, results: named, reference });
  output.table(
    [by === "score" ? "score" : "cosine", "document", "tokens", "text"],
    named.map(({ document, score, tokens, text }) => [
      score.toFixed(5),
      String(document),
      String(tokens),
      JSON.stringify(shortened(text)),
    ]),
    { right: [0, 1, 2], yields: 3 },
  );
  if (by === "cosine") output.line("\nThis model is not a reranker: these are the cosines of its vectors.");
  return 0;
}
