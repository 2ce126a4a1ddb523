/** `rlx run`, and what `rlx chat` (chat.ts) shares with it: streamed text, statistics at the end, ^C stops the answer. */
import { constants, existsSync } from "node:fs";
import { access } from "node:fs/promises";
import type { StreamInputOf, StreamItemOf } from "../../contract/contract.ts";
import { LARGEST_CONTEXT } from "../../contract/views/common.ts";
import { DEMO_OFFER } from "../../contract/views/engine.ts";
import type { Overview } from "../../contract/views/model.ts";
import type { RunStats, SamplingNumber, TokenView } from "../../contract/views/run.ts";
import {
  isWholeSampling,
  readTokenBias,
  SAMPLING_NUMBERS,
  SAMPLING_RANGES,
  samplingFlag,
} from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command, CommonOptions, ModelChoice, TargetOptions } from "./client.ts";
import { decimal, deviceOption, oneOf, openModel, unfinished, wholeNumber } from "./client.ts";
import { countExperts, printUse, countsOf } from "./experts.ts";
import { isGraphText } from "./graphText.ts";
import { READER_LEFT } from "./ending.ts";
import { runDemo } from "./demo.ts";
import { figureText, INTERRUPTED, noteReference, phaseText } from "./output.ts";
import type { PromptCacheOptions } from "./promptCache.ts";
import { loadPromptCache, savePromptCache } from "./promptCache.ts";
import { cacheTypeGiven, precisionNamed } from "./precision.ts";
import { makeFolder } from "../files/makeFolder.ts";
import { counted } from "../../engine/words.ts";
import type { TextReader } from "./text.ts";
import { readStandardInput, readText, STANDARD_INPUT } from "./text.ts";
import type { ToldOptions } from "./told.ts";
import { notedTemplate, shower, tell, toldOf } from "./told.ts";

export interface SamplingOptions
  extends CommonOptions, PromptCacheOptions, Readonly<Partial<Record<SamplingNumber, string>>> {
  readonly maxTokens: string;
  readonly dryBreaker?: readonly string[];
  readonly logitBias?: readonly string[];
  readonly grammar?: string;
  readonly grammarFile?: string;
  readonly jsonSchema?: string;
  readonly jsonSchemaFile?: string;
  readonly seed?: string;
  readonly stop?: readonly string[];
  readonly threads?: string;
  readonly precision: string;
  readonly cacheType?: string;
  readonly device: string;
}

type Start = Extract<StreamItemOf<"run.start">, { readonly kind: "start" }>;

export interface Answer {
  readonly text: string;
  readonly start: Start;
  readonly done: Extract<StreamItemOf<"run.start">, { readonly kind: "done" }>;
}

export type RunInput = StreamInputOf<"run.start">;

export async function runInput(
  command: Command,
  model: string,
  options: SamplingOptions,
  prompt: RunInput["prompt"],
): Promise<RunInput> {
  return {
    model,
    device: await deviceOption(command, options.device),
    prompt,
    sampling: {
      ...samplingNumbers(options),
      ...(options.dryBreaker === undefined ? {} : { dryBreakers: [...options.dryBreaker] }),
      ...(options.logitBias === undefined ? {} : { logitBias: options.logitBias.map(tokenBias) }),
      ...(await constraintOf(options, command)),
      seed: options.seed === undefined ? null : wholeNumber("seed", options.seed, 0, 4_294_967_295),
    },
    stop: stopTexts(options.stop ?? []),
    maxTokens: wholeNumber("max-tokens", options.maxTokens, 1, 1_048_576),
    context: options.context === undefined ? null : wholeNumber("context", options.context, 1, LARGEST_CONTEXT),
    threads: options.threads === undefined ? null : wholeNumber("threads", options.threads, 1, 1024),
    precision: precisionNamed(options.precision),
    cacheType: cacheTypeGiven(options.cacheType),
  };
}

/** Those that are given; the engine knows the others. */
function samplingNumbers(options: SamplingOptions): Partial<Record<SamplingNumber, number>> {
  const given = SAMPLING_NUMBERS.flatMap((name) => {
    const text = options[name];
    if (text === undefined) return [];
    const [least, most] = SAMPLING_RANGES[name];
    const value = (isWholeSampling(name) ? wholeNumber : decimal)(samplingFlag(name), text, least, most);
    return [[name, value] as const];
  });
  return Object.fromEntries(given);
}

/** What the answer has to be. */
async function constraintOf(
  { grammar, grammarFile, jsonSchema, jsonSchemaFile }: SamplingOptions,
  reader: TextReader,
): Promise<Pick<NonNullable<RunInput["sampling"]>, "grammar" | "jsonSchema">> {
  oneOf("the form of the answer", {
    "--grammar": grammar,
    "--grammar-file": grammarFile,
    "--json-schema": jsonSchema,
    "--json-schema-file": jsonSchemaFile,
  });
  const textOf = (text: string | undefined, path: string | undefined): Promise<string | undefined> =>
    path === undefined ? Promise.resolve(text) : readText(path, reader);
  const gbnf = await textOf(grammar, grammarFile);
  const schema = await textOf(jsonSchema, jsonSchemaFile);
  return { ...(gbnf === undefined ? {} : { grammar: gbnf }), ...(schema === undefined ? {} : { jsonSchema: schema }) };
}

function tokenBias(text: string): NonNullable<ReturnType<typeof readTokenBias>> {
  const bias = readTokenBias(text);
  if (bias !== null) return bias;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --logit-bias: got ${JSON.stringify(text)}, expected <token>=<number from -1000 to 1000> or <token>=ban`,
    { hint: 'A token is its id or its text: --logit-bias 15=-2, --logit-bias " the=ban". `rlx tokenize` shows ids.' },
  );
}

/** Refuses an empty --stop, which would match at once. */
function stopTexts(texts: readonly string[]): string[] {
  if (texts.includes("")) throw new WorkbenchError("INPUT_ARGUMENT", "[rlx] --stop: got nothing, expected a text");
  return [...texts];
}

/** Streams one answer to stdout. ^C stops the answer, not the program, while one is being written. */
export async function answer(
  command: Command,
  input: RunInput,
  signal: AbortSignal,
  begun: (start: Start) => void = () => undefined,
  show: (pieces: TokenView["pieces"]) => void = (pieces) =>
    command.output.write(pieces.map((piece) => piece.text).join("")),
): Promise<Answer> {
  let text = "";
  let isWriting = false;
  let start: Start | undefined;
  for await (const item of withTemplateHint(command.client.stream("run.start", input, { signal }))) {
    if (item.kind === "phase") command.output.progress(phaseText(item), item.name);
    else if (item.kind === "start") {
      start = item;
      begun(item);
    } else if (item.kind === "token") {
      if (!isWriting) command.output.endProgress();
      isWriting = true;
      text += item.token.text;
      show(item.token.pieces);
    } else if (item.kind === "done" && start !== undefined) return { text, start, done: item };
  }
  throw unfinished(signal);
}

/** Hint for a missing template, or one that refuses the conversation. */
async function* withTemplateHint<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
  try {
    yield* items;
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code !== "INPUT_TEMPLATE") throw error;
    const hint = "`rlx run` completes a text without a template.";
    throw new WorkbenchError(error.code, error.message, { hint, cause: error });
  }
}

/** The source of an answer: a simulator's speed says nothing about the device. */
const origin = ({ device, truth, reference }: Start): string =>
  reference !== null ? "TypeScript reference" : truth === "simulated" ? `${device}, simulated` : device;

/** Printed before answers of a simulator or of the TypeScript reference. */
export function mark(command: Command): (start: Start) => void {
  return (start) => {
    command.output.endProgress();
    noteReference(command.output, start.reference);
    if (start.truth === "simulated" && !command.output.json) command.streams.stderr.write(`[${origin(start)}]\n`);
  };
}

/** `asked`: the requested context. A smaller one is printed. */
export function statsLine(start: Start, stats: RunStats, asked: RunInput["context"]): string {
  const parts = [`${origin(start)}: ${counted(stats.promptTokens, "prompt token")}`];
  if (stats.recomputed !== null)
    parts.push(
      `reused ${stats.reusedTokens}, recomputed ${stats.recomputed.tokens}, because ${stats.recomputed.because}`,
    );
  else if (stats.reusedTokens > 0) parts.push(`${stats.reusedTokens} of them reused`);
  if (stats.promptRate) parts.push(`read at ${figureText(stats.promptRate)}`);
  parts.push(`${stats.generated} written`);
  if (stats.rate) parts.push(`at ${figureText(stats.rate)}`);
  if (stats.firstTokenSeconds) parts.push(`first after ${figureText(stats.firstTokenSeconds)}`);
  if (typeof asked === "number" && stats.contextSize < asked)
    parts.push(`in a context of ${stats.contextSize}, the most that there is`);
  return parts.join(", ");
}

interface PromptOptions extends SamplingOptions, TargetOptions, ToldOptions {
  readonly input?: readonly string[];
  readonly symbol?: readonly string[];
  readonly experts?: boolean;
  readonly prompt?: string;
  readonly promptFile?: string;
}

/** Warns if the cache folder cannot be made: then each start compiles the model. */
export async function noteCache({ output, settings }: Command): Promise<void> {
  const folder = settings.cacheFolder;
  if (folder === undefined) return;
  const isKept = await makeFolder(folder, 0o700)
    .then(() => access(folder, constants.W_OK))
    .then(
      () => true,
      () => false,
    );
  if (isKept) return;
  const variable = settings.cache !== null ? " (RLX_CACHE)" : settings.home !== null ? " (RLX_HOME)" : "";
  output.note(`Nothing is cached: ${folder}${variable} is no folder that can be written to.`);
}

/** The prompt from the options, a file or standard input; undefined without one. */
async function promptOf(command: Command, { prompt, promptFile }: PromptOptions): Promise<string | undefined> {
  if (prompt !== undefined) return prompt;
  if (promptFile !== undefined && promptFile !== STANDARD_INPUT) return readText(promptFile, command);
  if (promptFile === undefined && command.streams.stdin.isTTY === true) return undefined;
  // The last line end is not part of the prompt: `echo` adds it.
  const piped = (await readStandardInput(command)).replace(/\r?\n$/, "");
  return piped === "" ? undefined : piped;
}

/** Refuses target options without --demo: only the demo graph has a predicted target. */
function refuseTarget(options: TargetOptions): void {
  const given = (["chip", "os", "units", "profile"] as const).find((name) => options[name] !== undefined);
  if (given === undefined) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[rlx run] --${given}: got it without --demo, expected it with --demo`, {
    hint: "--device says where a model runs; RLX_COREML_UNITS names the compute units of Core ML.",
  });
}

export async function complete(command: Command, choice: ModelChoice, options: PromptOptions): Promise<number> {
  // A graph of its own: it has no text to go on from.
  if (choice.offer === DEMO_OFFER) return runDemo(command, choice, options);
  if (isGraphText(choice.file)) return (await import("./graphRuns.ts")).evaluateText(command, choice.file, options);
  refuseTarget(options);
  oneOf("the prompt", { "--prompt": options.prompt, "--prompt-file": options.promptFile });
  const text = await promptOf(command, options);
  if (text === undefined) {
    // People often put the prompt in the file's place.
    const taken = choice.file !== undefined && !existsSync(choice.file);
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx run] no prompt", {
      hint: taken
        ? `Give one with -p: "${choice.file}" stands where a file is named, and there is no such file.`
        : 'Give one with -p "…", with --prompt-file, or on standard input.',
    });
  }
  const told = await toldOf(options, command);
  // What a chat template is told makes the prompt a message of a conversation.
  const isMessage = Object.keys(told).length > 0;
  if (isMessage && options.experts === true)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx run] --experts: got it beside a conversation, expected a text", {
      hint: "Leave out what the chat template is told (--tools and its like).",
    });
  await noteCache(command);
  const overview = await openModel(command, choice, "sample");
  const { model } = overview;
  if (isMessage) await notedTemplate(command, model, told);
  const input = await runInput(
    command,
    model,
    options,
    isMessage ? { kind: "chat", messages: [{ role: "user", content: text }], ...told } : { kind: "completion", text },
  );
  const loaded = await loadPromptCache(command, input, options);
  const counting = options.experts === true ? await expertsDevice(command, overview, options) : undefined;
  const begun = ({ reference }: Start): void => noteReference(command.output, reference);
  const show = isMessage ? shower(command, true) : undefined;
  const { text: written, start, done } = await answer(command, input, command.signal, begun, show);
  command.output.line();
  if (isMessage) tell(command, done.reply);
  const { device, truth, reference, sampling } = start;
  const parts = isMessage ? done.reply : {};
  const isCancelled = done.reason === "cancelled";
  const saved = isCancelled ? null : await savePromptCache(command, input, options);
  const value = {
    ...{ text: written, ...parts, device, truth, reference, sampling, reason: done.reason, stats: done.stats },
    ...(options.promptCache === undefined ? {} : { promptCache: { loaded, saved } }),
  };
  const use =
    counting === undefined || isCancelled
      ? undefined
      : await countExperts(command, {
          ...{ model, device: counting, threads: input.threads ?? null },
          source: { kind: "text", text: text + written },
        });
  command.output.value(use === undefined ? value : { ...value, experts: countsOf(use.use) });
  if (use !== undefined) printUse(command, use.use);
  if (!command.output.json && command.signal.reason !== READER_LEFT)
    command.output.note(`\n${done.sentence} ${statsLine(start, done.stats, input.context)}`);
  return isCancelled ? INTERRUPTED : 0;
}

/** The device that counts experts; refused before the run where it cannot, or where there are none. */
async function expertsDevice(command: Command, { facts }: Overview, { device }: PromptOptions): Promise<string> {
  if (facts.some(({ label }) => label === "experts")) return deviceOption(command, device, "graphs", "--experts on");
  throw new WorkbenchError("INPUT_ARGUMENT", "[rlx run] --experts: got a model without experts, expected a mixture", {
    hint: "Leave --experts out.",
  });
}
