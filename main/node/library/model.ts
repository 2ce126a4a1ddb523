/** A model's file that is open for work: its graph, its text, and sessions that write text on a device. */
import { VERSION } from "../../contract/version.ts";
import type { ChatMessage, ChatSupport } from "../../chatTemplate/chatTemplate.ts";
import { chatSupport, encodeRenderedSteps } from "../../chatTemplate/chatTemplate.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { WrittenModel } from "../../engine/models/madeModel.ts";
import { writeMade } from "../../engine/models/madeModel.ts";
import type { TaskKind } from "../../engine/models/taskCache.ts";
import { inSlices, TaskCache } from "../../engine/models/taskCache.ts";
import { randomSeed } from "../../engine/random.ts";
import type { AdapterChoice } from "../../formats/gguf/adapters.ts";
import { withAdapters } from "../../formats/gguf/adapters.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import { openModelFile } from "../../formats/openModel.ts";
import type { Graph } from "../../ir/graph.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import { modelGraph } from "../../library/models.ts";
import { chatRefusal } from "../../models/architecture.ts";
import type { TemplateOptions } from "../../models/template.ts";
import { locateIn, mappedFiles } from "../../runtime/decoderModel.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { ExpertUse } from "../../runtime/expertUse.ts";
import { expertUse, requireExperts } from "../../runtime/expertUse.ts";
import type { CacheType } from "../../models/blocks.ts";
import type { DeviceDecoder } from "../../runtime/devices/provider.ts";
import { requireCacheType } from "../../runtime/devices/provider.ts";
import type { Conversation } from "../../runtime/chatPrompt.ts";
import { chatPrompt, plainReader } from "../../runtime/chatPrompt.ts";
import type { GenerateOptions } from "../../runtime/generate.ts";
import { generate, GREEDY } from "../../runtime/generate.ts";
import type { ReplyEvent } from "../../runtime/replyEvents.ts";
import { replyEvents } from "../../runtime/replyEvents.ts";
import type { ReplyReader } from "../../replies/reader.ts";
import type { AnswerForms } from "../../runtime/sampling/grammars.ts";
import type { PromptCacheFacts, PromptCachePlace } from "../../runtime/promptCache.ts";
import { loadPromptCache, savePromptCache } from "../../runtime/promptCache.ts";
import { samplingHints } from "../../runtime/sampling/hints.ts";
import type { SamplingSettings } from "../../runtime/sampling/settings.ts";
import { prepareSampling } from "../../runtime/sampling/settings.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { modelFiles } from "../files/modelFiles.ts";
import { promptCacheFiles } from "../files/promptCacheFiles.ts";
import { poolingOf } from "../../runtime/embedderModel.ts";
import { engines, THREADS } from "./addon.ts";
import type { EmbedderOptions } from "./embedder.ts";
import { Embedder } from "./embedder.ts";

/** Positions of a session or package when nothing is said; a model that was trained for fewer has those. */
export const DEFAULT_CONTEXT = 4096;
const MOST_TOKENS = 256;
const NEVER = new AbortController().signal;
const WRITTEN: TaskKind<WrittenModel> = { name: "written as GGUF", keep: 1 };
/** One per device and cache type, until the model is closed. */
const DECODER: TaskKind<DeviceDecoder> = { name: "decoder", keep: Infinity };

export interface SessionOptions {
  /** Id of a device; the first of `devices()` without it. */
  readonly device?: string;
  /** Positions that the session holds: the prompt and the answer. */
  readonly context?: number;
  readonly threads?: number;
  /** Element type of keys and values; the device's own without it. */
  readonly cacheType?: CacheType;
  readonly signal?: AbortSignal;
}

export type ExpertUseOptions = Pick<SessionOptions, "device" | "threads" | "signal">;
/** A conversation, and what the template is told besides its messages. */
export interface ChatRequest extends Conversation {
  /** One of the file's named templates; without it, as the file chooses. */
  readonly template?: string;
}

/** Text to go on with, or a conversation that is written with the file's own chat template. */
export type Prompt = string | readonly ChatMessage[] | ChatRequest;

export interface TextOptions extends Pick<GenerateOptions, "stop" | "alternatives" | "signal"> {
  /** 256 by default. */
  readonly maxTokens?: number;
  /** As the file says (`general.sampling.*`), else greedy; a seed is drawn where none is given. */
  readonly sampling?: Partial<SamplingSettings>;
}

/** The GGUF that comes with the package: a small model for trying things out. */
export function sampleModel(): string {
  const sample = modelFiles.sample();
  if (sample !== undefined) return sample.path;
  throw new WorkbenchError("INPUT_NOT_FOUND", "[sample] the sample model is not part of this installation");
}

export interface OpenModelOptions {
  /** LoRA adapters (GGUF) to apply; a scale of 1 without one. */
  readonly adapters?: readonly { readonly path: string; readonly scale?: number }[];
  readonly signal?: AbortSignal;
}

/**
 * Opens a model by path: a GGUF (any part of a split one), a safetensors file, or the folder of a Hugging Face model. Only
 * headers are read, those of adapters too.
 */
export async function openModel(path: string, { adapters = [], signal }: OpenModelOptions = {}): Promise<Model> {
  const { path: full, source, openSibling, beside } = await modelFiles.open(path);
  const file = await openModelFile(source, { openSibling, signal });
  const paths = file.parts.map(({ name }) => beside(name));
  const choices: AdapterChoice[] = [];
  try {
    for (const adapter of adapters) {
      const opened = await modelFiles.open(adapter.path);
      choices.push({ file: await openGguf(opened.source, { signal }), scale: adapter.scale ?? 1 });
      paths.push(opened.path);
    }
    return new Model(full, withAdapters(file, choices), paths);
  } catch (error) {
    await Promise.allSettled([file, ...choices.map((choice) => choice.file)].map((each) => each.close()));
    throw error;
  }
}

export class Model {
  /** Absolute. */
  readonly path: string;
  /** Of the files that it is read from, adapters included. */
  readonly paths: readonly string[];
  /** Keys and tensors, as the portable door has them. */
  readonly file: GgufFile;
  readonly #tasks = new TaskCache();
  /** Of decoders, for `close`. */
  readonly #openings: Promise<DeviceDecoder>[] = [];
  readonly #written: WrittenModel[] = [];
  #tokenizer: Tokenizer | undefined;

  constructor(path: string, file: GgufFile, paths: readonly string[]) {
    this.path = path;
    this.file = file;
    this.paths = paths;
  }

  get tokenizer(): Tokenizer {
    return (this.#tokenizer ??= createTokenizer(this.file));
  }

  /** Where its weights lie, for `compileForCpu`. */
  get weights(): WeightFiles {
    const { made } = this.file;
    if (made !== undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", `[${this.file.name}] got ${made.from}, expected a GGUF`, {
        hint: "The engine maps its weights: write the model as a GGUF first, with `rlx convert`.",
      });
    return { ...mappedFiles(this.file, this.paths), locate: locateIn(this.file) };
  }

  /** The graph of one step, weights named. */
  graph(options?: Partial<TemplateOptions>): Graph {
    return modelGraph(this.file, options);
  }

  /** A session with a cache of its own. Sessions of one device share the model's weights. */
  async openSession(options: SessionOptions = {}): Promise<ModelSession> {
    const {
      device: id,
      context = DEFAULT_CONTEXT,
      threads = THREADS,
      cacheType,
      signal = new AbortController().signal,
    } = options;
    if (!Number.isSafeInteger(context) || context < 1)
      throw new WorkbenchError("INPUT_ARGUMENT", `[session] context: got ${context}, expected a whole number from 1`, {
        hint: "Name the positions that the prompt and the answer need, or leave it out.",
      });
    const { registry } = engines();
    const device = id === undefined ? registry.first : registry.able(id, "tokens", "session");
    requireCacheType(device, cacheType);
    const type = cacheType === undefined ? {} : { cacheType };
    const decoder = await this.#decoder(device, { ...type, threads, context }, signal);
    const place = { engine: VERSION, device: device.id, cacheType: decoder.cacheType };
    return new ModelSession(this, decoder.open({ context: Math.min(context, decoder.context), threads }), place);
  }

  /** Which experts each layer of a mixture chooses while it reads a prompt. */
  async expertUse(prompt: Prompt | Int32Array, options: ExpertUseOptions = {}): Promise<ExpertUse> {
    const { device: id, threads = THREADS, signal = new AbortController().signal } = options;
    const layers = requireExperts(this.file);
    const tokens = prompt instanceof Int32Array ? prompt : await this.encode(prompt, signal);
    const { registry } = engines();
    const device = id === undefined ? registry.first : registry.able(id, "graphs", "experts");
    const context = Math.max(1, tokens.length);
    const decoder = await this.#decoder(device, { threads, context, countsExperts: true }, signal);
    const session = decoder.open({ context: Math.min(context, decoder.context), threads });
    try {
      return await expertUse(session, layers, tokens, { signal });
    } finally {
      session.dispose();
    }
  }

  async #decoder(
    device: ReturnType<typeof engines>["registry"]["first"],
    how: {
      readonly threads: number;
      readonly context: number;
      readonly cacheType?: CacheType;
      readonly countsExperts?: true;
    },
    signal: AbortSignal,
  ): Promise<DeviceDecoder> {
    const key = `${device.id} ${how.cacheType ?? ""}${how.countsExperts === true ? " experts" : ""}`;
    const decoder = await this.#tasks.get(DECODER, key, signal, async (own) => {
      const paths = await this.#mappablePaths(own);
      const request = { source: this, file: this.file, paths, ...how };
      const opening = device.openDecoder({ ...request, signal: own, onPhase: () => undefined });
      this.#openings.push(opening);
      return opening;
    });
    throwIfCancelled(signal);
    return decoder;
  }

  /** A model of another container is written as a GGUF first, once. */
  async #mappablePaths(signal: AbortSignal): Promise<readonly string[]> {
    if (this.file.made === undefined) return this.paths;
    const written = await this.#tasks.get(WRITTEN, "", signal, async (own) => {
      const place = await writeMade(modelFiles)(this.file, own);
      this.#written.push(place);
      return place;
    });
    return [written.path];
  }

  /** What makes vectors of texts and sorts documents, in files of encoders and rerankers. */
  async openEmbedder(options: EmbedderOptions = {}): Promise<Embedder> {
    const { device: id, threads = THREADS, signal = NEVER } = options;
    const pooling = poolingOf(this.file, options.pooling);
    const { registry } = engines();
    const device = id === undefined ? registry.first : registry.able(id, "tokens", "embedder");
    if (device.openEmbedder === undefined)
      throw new WorkbenchError("ENV_NO_DEVICE", `[embedder] device ${device.id}: it makes no vectors of texts`, {
        hint: "Choose cpu.",
      });
    const paths = await this.#mappablePaths(signal);
    const request = { source: this, file: this.file, paths, threads, pooling, signal };
    const opened = await device.openEmbedder({ ...request, onPhase: () => undefined });
    return new Embedder(opened, this.file, this.tokenizer);
  }

  /** Token ids of a prompt. Text gets what the file's rules add; a conversation gets its chat template. */
  async encode(prompt: Prompt, signal: AbortSignal = NEVER): Promise<Int32Array> {
    return (await this.prompt(prompt, signal)).ids;
  }

  /** As `encode`, what takes the answer apart (reasoning, words, calls of tools), and what it has to be. */
  async prompt(
    prompt: Prompt,
    signal: AbortSignal = NEVER,
  ): Promise<AnswerForms & { readonly ids: Int32Array; readonly reader: ReplyReader }> {
    if (typeof prompt === "string")
      return { ids: await inSlices(this.tokenizer.encodeSteps(prompt), signal), reader: plainReader() };
    const asked: ChatRequest = "messages" in prompt ? prompt : { messages: prompt };
    const choice = { name: asked.template, hasTools: asked.toolChoice !== "none" && (asked.tools ?? []).length > 0 };
    const refusal = chatRefusal(this.file);
    const support: ChatSupport =
      refusal === undefined ? chatSupport(this.file, this.tokenizer, choice) : { kind: "none", sentence: refusal };
    if (support.kind === "none")
      throw new WorkbenchError("INPUT_TEMPLATE", `[chat] ${support.sentence}`, { hint: "Give a text instead." });
    const { text, ...read } = chatPrompt(support.template, asked);
    return { ids: await inSlices(encodeRenderedSteps(this.tokenizer, text), signal), ...read };
  }

  /** Gives weights and file back; sessions of the model are of no use afterwards. */
  async close(): Promise<void> {
    this.#tasks.end();
    for (const opening of await Promise.allSettled(this.#openings.splice(0)))
      if (opening.status === "fulfilled") await opening.value.dispose();
    for (const place of this.#written.splice(0)) await place.remove();
    await this.file.close();
  }
}

/** One conversation: what it has read stays in its cache, so that a longer prompt only feeds what is new. */
export class ModelSession {
  /** Tokens, logits, scores, forks and saved states, below the level of text. */
  readonly decoder: DecoderSession;
  readonly #model: Pick<Model, "prompt" | "tokenizer" | "file">;
  readonly #place: PromptCachePlace | undefined;
  #busy = false;

  /** `place`: what a prompt cache of it belongs to besides the model; without it none can be saved. */
  constructor(model: Pick<Model, "prompt" | "tokenizer" | "file">, decoder: DecoderSession, place?: PromptCachePlace) {
    this.#model = model;
    this.decoder = decoder;
    this.#place = place;
  }

  /** What it holds, as a prompt cache: a file that another process loads instead of reading the same prompt again. */
  save(
    path: string,
    options: { readonly overwrite?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<PromptCacheFacts> {
    return this.#alone(() => savePromptCache(promptCacheFiles, path, this.#cached, options));
  }

  /** Takes the place of what it holds. Refuses the cache of another model, version, device or type. */
  load(path: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<PromptCacheFacts> {
    return this.#alone(() => loadPromptCache(promptCacheFiles, path, this.#cached, signal));
  }

  get #cached(): Parameters<typeof savePromptCache>[2] {
    if (this.#place !== undefined) return { file: this.#model.file, session: this.decoder, place: this.#place };
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      "[prompt cache] got a session of a package, expected one of a model",
      {
        hint: "Open the model with openModel and a session on cpu or mlx.",
      },
    );
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#begin("prompt cache");
    try {
      return await work();
    } finally {
      this.#busy = false;
    }
  }

  #begin(who: string): void {
    if (this.#busy)
      throw new WorkbenchError("HANDLE_BUSY", `[${who}] this session is writing already`, {
        hint: "Wait for its end, abort it, or open another session.",
      });
    this.#busy = true;
  }

  /**
   * Reads a prompt and writes an answer, as events: `prompt` while it reads, `token` for each token with its text, `done` at
   * the end with the reason and the times. Tokens say what they are for (reasoning, the answer, a call), `call` is a call
   * of a tool, and `done` has the whole reply. An abort ends it with the reason "cancelled"; the session can go on.
   */
  async *generate(prompt: Prompt, options: TextOptions = {}): AsyncGenerator<ReplyEvent, void, void> {
    this.#begin("generate");
    try {
      const { maxTokens = MOST_TOKENS, sampling, ...rest } = options;
      const { ids, reader, ...forms } = await this.#model.prompt(prompt, options.signal);
      const { tokenizer, file } = this.#model;
      const { values } = samplingHints(file.metadata);
      const settings = { ...GREEDY, ...values, seed: randomSeed(), ...sampling };
      const prepared = await inSlices(prepareSampling(settings, tokenizer, forms), options.signal ?? NEVER);
      const events = generate(this.decoder, tokenizer, { ...rest, prompt: ids, maxTokens, sampling: prepared });
      yield* replyEvents(events, reader, tokenizer);
    } finally {
      this.#busy = false;
    }
  }

  dispose(): void {
    this.decoder.dispose();
  }
}
