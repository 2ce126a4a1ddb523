/** A model's file that is open for work: its graph, its text, and sessions that write text on a device. */
import type { ChatMessage } from "../../chatTemplate/chatTemplate.ts";
import { chatSupport, encodeRenderedSteps } from "../../chatTemplate/chatTemplate.ts";
import { throwIfCancelled, WorkbenchError } from "../../diagnostics/errors.ts";
import type { TaskKind } from "../../engine/models/taskCache.ts";
import { inSlices, TaskCache } from "../../engine/models/taskCache.ts";
import { randomSeed } from "../../engine/random.ts";
import type { GgufFile } from "../../formats/gguf/file.ts";
import { openGguf } from "../../formats/gguf/open.ts";
import type { Graph } from "../../ir/graph.ts";
import type { WeightFiles } from "../../ir/weightPlace.ts";
import { modelGraph } from "../../library/models.ts";
import type { TemplateOptions } from "../../models/template.ts";
import { locateIn, mappedFiles } from "../../runtime/decoderModel.ts";
import type { DecoderSession } from "../../runtime/decoderSession.ts";
import type { CacheType, DeviceDecoder } from "../../runtime/devices/provider.ts";
import type { Conversation } from "../../runtime/chatPrompt.ts";
import { chatPrompt, plainReader } from "../../runtime/chatPrompt.ts";
import type { GenerateOptions } from "../../runtime/generate.ts";
import { generate, GREEDY } from "../../runtime/generate.ts";
import type { ReplyEvent } from "../../runtime/replyEvents.ts";
import { replyEvents } from "../../runtime/replyEvents.ts";
import type { ReplyReader } from "../../replies/reader.ts";
import { samplingHints } from "../../runtime/sampling/hints.ts";
import type { SamplingSettings } from "../../runtime/sampling/settings.ts";
import { prepareSampling } from "../../runtime/sampling/settings.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { createTokenizer } from "../../tokenizer/tokenizer.ts";
import { modelFiles } from "../files/modelFiles.ts";
import { engines, THREADS } from "./addon.ts";

/** Positions of a session or package when nothing is said; a model that was trained for fewer has those. */
export const DEFAULT_CONTEXT = 4096;
const MOST_TOKENS = 256;
const NEVER = new AbortController().signal;
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

/** Opens a GGUF by path: one file, or all parts of a split one. Only its header is read. */
export async function openModel(path: string, options: { readonly signal?: AbortSignal } = {}): Promise<Model> {
  const { path: full, source, openSibling, beside } = await modelFiles.open(path);
  const file = await openGguf(source, { openSibling, signal: options.signal });
  return new Model(
    full,
    file,
    file.parts.map(({ name }) => beside(name)),
  );
}

export class Model {
  /** Absolute. */
  readonly path: string;
  /** Keys and tensors, as the portable door has them. */
  readonly file: GgufFile;
  readonly #paths: readonly string[];
  readonly #tasks = new TaskCache();
  /** Of decoders, for `close`. */
  readonly #openings: Promise<DeviceDecoder>[] = [];
  #tokenizer: Tokenizer | undefined;

  constructor(path: string, file: GgufFile, paths: readonly string[]) {
    this.path = path;
    this.file = file;
    this.#paths = paths;
  }

  get tokenizer(): Tokenizer {
    return (this.#tokenizer ??= createTokenizer(this.file));
  }

  /** Where its weights lie, for `compileForCpu`. */
  get weights(): WeightFiles {
    return { ...mappedFiles(this.file, this.#paths), locate: locateIn(this.file) };
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
    const request = { source: this, file: this.file, paths: this.#paths, threads, context };
    const type = cacheType === undefined ? {} : { cacheType };
    const decoder = await this.#tasks.get(DECODER, `${device.id} ${cacheType ?? ""}`, signal, (own) => {
      const opening = device.openDecoder({ ...request, ...type, signal: own, onPhase: () => undefined });
      this.#openings.push(opening);
      return opening;
    });
    throwIfCancelled(signal);
    return new ModelSession(this, decoder.open({ context: Math.min(context, decoder.context), threads }));
  }

  /** Token ids of a prompt. Text gets what the file's rules add; a conversation gets its chat template. */
  async encode(prompt: Prompt, signal: AbortSignal = NEVER): Promise<Int32Array> {
    return (await this.prompt(prompt, signal)).ids;
  }

  /** As `encode`, and what takes the answer apart: reasoning, words, calls of tools. */
  async prompt(
    prompt: Prompt,
    signal: AbortSignal = NEVER,
  ): Promise<{ readonly ids: Int32Array; readonly reader: ReplyReader }> {
    if (typeof prompt === "string")
      return { ids: await inSlices(this.tokenizer.encodeSteps(prompt), signal), reader: plainReader() };
    const asked: ChatRequest = "messages" in prompt ? prompt : { messages: prompt };
    const choice = { name: asked.template, hasTools: (asked.tools ?? []).length > 0 };
    const support = chatSupport(this.file, this.tokenizer, choice);
    if (support.kind === "none")
      throw new WorkbenchError("INPUT_TEMPLATE", `[chat] ${support.sentence}`, { hint: "Give a text instead." });
    const { text, reader } = chatPrompt(support.template, asked);
    return { ids: await inSlices(encodeRenderedSteps(this.tokenizer, text), signal), reader };
  }

  /** Gives weights and file back; sessions of the model are of no use afterwards. */
  async close(): Promise<void> {
    this.#tasks.end();
    for (const opening of await Promise.allSettled(this.#openings.splice(0)))
      if (opening.status === "fulfilled") await opening.value.dispose();
    await this.file.close();
  }
}

/** One conversation: what it has read stays in its cache, so that a longer prompt only feeds what is new. */
export class ModelSession {
  /** Tokens, logits, scores, forks and saved states, below the level of text. */
  readonly decoder: DecoderSession;
  readonly #model: Pick<Model, "prompt" | "tokenizer" | "file">;
  #busy = false;

  constructor(model: Pick<Model, "prompt" | "tokenizer" | "file">, decoder: DecoderSession) {
    this.#model = model;
    this.decoder = decoder;
  }

  /**
   * Reads a prompt and writes an answer, as events: `prompt` while it reads, `token` for each token with its text, `done` at
   * the end with the reason and the times. Tokens say what they are for (reasoning, the answer, a call), `call` is a call
   * of a tool, and `done` has the whole reply. An abort ends it with the reason "cancelled"; the session can go on.
   */
  async *generate(prompt: Prompt, options: TextOptions = {}): AsyncGenerator<ReplyEvent, void, void> {
    if (this.#busy)
      throw new WorkbenchError("HANDLE_BUSY", "[generate] this session is writing already", {
        hint: "Wait for its end, abort it, or open another session.",
      });
    this.#busy = true;
    try {
      const { maxTokens = MOST_TOKENS, sampling, ...rest } = options;
      const { ids, reader } = await this.#model.prompt(prompt, options.signal);
      const { tokenizer, file } = this.#model;
      const { values } = samplingHints(file.metadata);
      const settings = { ...GREEDY, ...values, seed: randomSeed(), ...sampling };
      const prepared = await inSlices(prepareSampling(settings, tokenizer), options.signal ?? NEVER);
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
