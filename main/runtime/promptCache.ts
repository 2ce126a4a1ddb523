/**
 * A prompt cache: what a session holds (tokens, keys and values, recurrent states and the copies to go back to) as a file,
 * so that another process need not read the same prompt again. The file says which model and which engine it belongs to, and
 * loading believes none of it: it has to be this model, this device's form of numbers, this version, and exactly as many bytes
 * as the session has for so many tokens. How bytes reach a disk is for the caller (`PromptCacheFiles`).
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { hashOfRanges, sampledRanges } from "../formats/gguf/samples.ts";
import type { Checkpoint, DecoderSession } from "./decoderSession.ts";

/** The model that a cache is of. The header is the same in a model and its fine-tunes, so pages of the weights count too. */
interface CachedModel {
  readonly name: string;
  readonly headerHash: string;
  readonly bytes: number;
  readonly weights: string;
}

/** What has to be the same for a cache to be of use: states of another version or type are other bytes. */
export interface PromptCachePlace {
  readonly engine: string;
  readonly device: string;
  readonly cacheType: string;
}

interface Head extends PromptCachePlace {
  readonly model: CachedModel;
  /** Of the session that it was saved from. */
  readonly context: number;
  readonly tokens: number;
  /** Tokens of the text before an encoder; 0 without one. */
  readonly text: number;
  /** Layers with a window kept the newest positions only. */
  readonly rings: boolean;
  readonly checkpoints: readonly { readonly past: number; readonly written?: number; readonly bytes: number }[];
}

export interface PromptCacheFiles {
  /** Whole or not at all. */
  write(
    path: string,
    head: string,
    parts: readonly Uint8Array[],
    options: { readonly overwrite: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<{ readonly path: string; readonly bytes: number }>;
  /** `check` sees the head and how many bytes follow it before any of them is read; then their checksum is compared. */
  read(
    path: string,
    check: (head: string, bytes: number) => void,
    signal?: AbortSignal,
  ): Promise<{ readonly path: string; readonly payload: Uint8Array }>;
}

export interface PromptCacheFacts {
  readonly path: string;
  /** Of the file, or of what was read of it. */
  readonly bytes: number;
  readonly tokens: number;
}

/** Most copies that a head may name. */
const MOST_CHECKPOINTS = 16;

async function modelOf(file: GgufFile, signal?: AbortSignal): Promise<CachedModel> {
  const { name, headerHash, byteLength: bytes, tensors } = file;
  return { name, headerHash, bytes, weights: await hashOfRanges(file, sampledRanges(tensors), signal) };
}

export async function savePromptCache(
  files: Pick<PromptCacheFiles, "write">,
  path: string,
  of: { readonly file: GgufFile; readonly session: DecoderSession; readonly place: PromptCachePlace },
  options: { readonly overwrite?: boolean; readonly signal?: AbortSignal | undefined } = {},
): Promise<PromptCacheFacts> {
  const { file, session, place } = of;
  const { overwrite = false, signal } = options;
  if (session.past === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[prompt cache] got a session without tokens, expected some to save", {
      hint: "Run a prompt first.",
    });
  const model = await modelOf(file, signal);
  const saved = await session.save();
  const { checkpoints } = session;
  const head: Head = {
    ...place,
    model,
    context: session.facts.capacity,
    tokens: session.past,
    text: session.source?.length ?? 0,
    rings: hasRings(session),
    checkpoints: checkpoints.map(({ past, written, states }) => ({
      past,
      ...(written !== undefined && { written }),
      bytes: states.byteLength,
    })),
  };
  const parts = [saved, ...checkpoints.map(({ states }) => states)];
  const written = await files.write(path, JSON.stringify(head), parts, { overwrite, signal });
  return { ...written, tokens: session.past };
}

/** Fills the session with what the file holds; the next prompt runs only what differs. A refusal leaves the session as it was. */
export async function loadPromptCache(
  files: Pick<PromptCacheFiles, "read">,
  path: string,
  into: { readonly file: GgufFile; readonly session: DecoderSession; readonly place: PromptCachePlace },
  signal?: AbortSignal,
): Promise<PromptCacheFacts> {
  const { file, session, place } = into;
  const model = await modelOf(file, signal);
  let head: Head | undefined;
  const read = await files.read(
    path,
    (text, bytes) => {
      head = readHead(text);
      checkPlace(head, { ...place, model });
      checkRings(head, session);
      checkSizes(head, session, bytes);
    },
    signal,
  );
  if (head === undefined) throw damaged("it has no head");
  const savedBytes = session.savedBytes(head.tokens, head.text);
  let at = savedBytes;
  const isKept = hasSameRings(head, session);
  const checkpoints = head.checkpoints.flatMap(({ bytes, ...of }): readonly Checkpoint[] => {
    const states = read.payload.slice(at, (at += bytes));
    return isKept ? [{ ...of, states }] : [];
  });
  const saved = read.payload.subarray(0, savedBytes);
  checkTokens(head, session, saved);
  await session.restore(saved, signal, checkpoints);
  return { path: read.path, bytes: read.payload.byteLength, tokens: head.tokens };
}

function checkPlace(head: Head, here: PromptCachePlace & { readonly model: CachedModel }): void {
  const { model } = here;
  const isOther = (["headerHash", "bytes", "weights"] as const).some((key) => head.model[key] !== model[key]);
  if (isOther)
    throw new WorkbenchError(
      "INPUT_CHANGED",
      `[prompt cache] it is of another model: got ${JSON.stringify(head.model.name)}, expected ${JSON.stringify(model.name)} with the same header, size, weights and adapters`,
      { hint: "Open the model that it was saved with, or give another file name and read the prompt again." },
    );
  for (const [key, words] of PLACE_WORDS)
    if (head[key] !== here[key])
      throw new WorkbenchError(
        "INPUT_CHANGED",
        `[prompt cache] ${words}: got ${JSON.stringify(head[key].slice(0, 60))}, expected ${JSON.stringify(here[key])}`,
        {
          hint:
            key === "device"
              ? "Run on the device that it was saved on, or read the prompt again and save it anew."
              : "Read the prompt again and save it anew: states of another kind cannot be taken over.",
        },
      );
}

const PLACE_WORDS = [
  ["engine", "version of the engine"],
  ["device", "device"],
  ["cacheType", "type of keys and values"],
] as const;

const hasRings = ({ facts }: DecoderSession): boolean => facts.ring !== undefined;

function checkRings({ rings }: Head, session: DecoderSession): void {
  if (rings === hasRings(session)) return;
  const [newest, all] = ["the newest positions", "all positions"];
  const [got, expected] = rings ? [newest, all] : [all, newest];
  throw new WorkbenchError("INPUT_CHANGED", `[prompt cache] layers with a window: got ${got}, expected ${expected}`, {
    hint: "Set RLX_RINGS as it was when the file was saved, or read the prompt again and save it anew.",
  });
}

/** True where rings have as many rows here as in the session that was saved: copies are of all of them. */
function hasSameRings({ context }: Head, { facts: { ring, capacity } }: DecoderSession): boolean {
  return ring === undefined || Math.min(ring.rows, capacity) === Math.min(ring.rows, context);
}

function checkSizes(head: Head, session: DecoderSession, bytes: number): void {
  const { tokens, text, checkpoints } = head;
  const { capacity, reader, rewind } = session.facts;
  if (tokens > capacity)
    throw new WorkbenchError(
      "RUN_CONTEXT_FULL",
      `[prompt cache] got ${tokens} tokens, expected at most ${capacity}: the context ends there`,
      { hint: "Open the model with a larger context (--context)." },
    );
  if (text > (reader?.largestText ?? 0)) throw damaged(`it names a text of ${text} tokens`);
  const past = checkpoints.map((each) => each.past);
  const isOrdered = past.every((each, i) => each <= tokens && (i === 0 || each > (past[i - 1] ?? 0)));
  if (!isOrdered || (rewind !== "checkpoint" && rewind !== "ring" && checkpoints.length > 0))
    throw damaged("it holds copies of states that this model has not");
  const isKept = hasSameRings(head, session);
  if (isKept && checkpoints.some((each) => each.bytes !== session.checkpointBytes(each.past)))
    throw damaged("a copy of its states has another size than the model's");
  const expected = checkpoints.reduce((sum, each) => sum + each.bytes, session.savedBytes(tokens, text));
  if (bytes !== expected) throw damaged(`got ${bytes} bytes behind its head, expected ${expected}`);
}

/** The counts stand in the states, too; the sizes above were worked out from the head's. */
function checkTokens(head: Head, { facts }: DecoderSession, saved: Uint8Array): void {
  const ahead = facts.reader === undefined ? 0 : head.text + 1;
  const begin = ahead + (facts.rewind === "ring" ? 1 : 0);
  const view = new DataView(saved.buffer, saved.byteOffset);
  const number = (index: number): number => view.getInt32(4 * index, true);
  if ((ahead > 0 && number(0) !== head.text) || number(begin) !== head.tokens)
    throw damaged("its head and its states disagree about the number of tokens");
  for (let i = 0; i < begin + 1 + head.tokens; i++) {
    const isToken = i < ahead ? i > 0 : i > begin;
    if (isToken && (number(i) < 0 || number(i) >= facts.vocabulary))
      throw damaged(`token ${number(i)} is none of the model's ${facts.vocabulary}`);
  }
}

/** Every field, or an error: the file may be anybody's. */
function readHead(text: string): Head {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged("its head is no JSON");
  }
  const head = new Fields(value, "head");
  const model = new Fields(head.get("model"), "model");
  const checkpoints = head.get("checkpoints");
  if (!Array.isArray(checkpoints) || checkpoints.length > MOST_CHECKPOINTS)
    throw damaged(`head: checkpoints are no list of at most ${MOST_CHECKPOINTS}`);
  return {
    engine: head.text("engine"),
    device: head.text("device"),
    cacheType: head.text("cacheType"),
    model: {
      name: model.text("name"),
      headerHash: model.text("headerHash"),
      bytes: model.count("bytes", 0),
      weights: model.text("weights"),
    },
    context: head.count("context", 1),
    tokens: head.count("tokens", 1),
    text: head.count("text", 0),
    rings: head.get("rings") === true,
    checkpoints: checkpoints.map((each: unknown) => {
      const fields = new Fields(each, "checkpoint");
      const past = fields.count("past", 0);
      const written = fields.get("written") === undefined ? {} : { written: fields.count("written", past) };
      return { past, ...written, bytes: fields.count("bytes", 0) };
    }),
  };
}

class Fields {
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #what: string;

  constructor(value: unknown, what: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw damaged(`${what}: got no object`);
    this.#values = new Map(Object.entries(value));
    this.#what = what;
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  text(key: string): string {
    const value = this.get(key);
    if (typeof value === "string" && value.length <= 4096) return value;
    throw damaged(`${this.#what}: ${key} is no text`);
  }

  count(key: string, least: number): number {
    const value = this.get(key);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
    throw damaged(`${this.#what}: ${key} is no whole number from ${least}`);
  }
}

export const damaged = (why: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[prompt cache] the file is damaged: ${why}`, {
    hint: "Remove it, read the prompt again and save it anew.",
  });
