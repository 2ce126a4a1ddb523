/**
 * Keeps what is costly to make under the key of what it was made from. The store is given (files in Node, memory in tests).
 * What comes back is checked: a damaged or foreign entry is a miss and is made again.
 */
import { hashBytes } from "../ir/hash.ts";

/** Bytes by key. `put` must be atomic: an entry is there whole or not at all. */
export interface CompileStore {
  readonly get: (key: string) => Promise<Uint8Array | undefined>;
  readonly put: (key: string, bytes: Uint8Array) => Promise<void>;
}

export interface Made<T> {
  readonly value: T;
  readonly content: Uint8Array;
}

/** How a value is read from kept bytes, and how it is made without them. */
export interface Recipe<T> {
  /** Undefined when the bytes are none of ours; what it throws counts as that too. */
  readonly read: (content: Uint8Array) => T | undefined;
  readonly make: () => Made<T> | Promise<Made<T>>;
}

export interface CacheResult<T> {
  readonly value: T;
  /** hit: from the store · made: there was none · repaired: what was there was damaged. */
  readonly how: "hit" | "made" | "repaired";
}

/** The last character is the version of this wrapping. */
const MAGIC = "RLXC2";
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Magic, hash of the key and hash of the content, each 32 hex digits, before the content. */
const HEAD = MAGIC.length + 64;

function wrap(key: string, content: Uint8Array): Uint8Array {
  const head = encoder.encode(MAGIC + hashKey(key) + hashBytes(content));
  const bytes = new Uint8Array(HEAD + content.length);
  bytes.set(head);
  bytes.set(content, HEAD);
  return bytes;
}

function unwrap(key: string, bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < HEAD) return undefined;
  const content = bytes.subarray(HEAD);
  return decoder.decode(bytes.subarray(0, HEAD)) === MAGIC + hashKey(key) + hashBytes(content) ? content : undefined;
}

const hashKey = (key: string): string => hashBytes(encoder.encode(key));

/** The value for `key`, from the store or made now. A store that fails costs time, never the result. */
export async function cached<T>(
  store: CompileStore | undefined,
  key: string,
  recipe: Recipe<T>,
): Promise<CacheResult<T>> {
  const stored = await store?.get(key).catch(() => undefined);
  const kept = stored === undefined ? undefined : readKept(key, stored, recipe);
  if (kept !== undefined) return { value: kept, how: "hit" };
  const { value, content } = await recipe.make();
  await store?.put(key, wrap(key, content)).catch(() => undefined);
  return { value, how: stored === undefined ? "made" : "repaired" };
}

function readKept<T>(key: string, stored: Uint8Array, recipe: Recipe<T>): T | undefined {
  const content = unwrap(key, stored);
  if (content === undefined) return undefined;
  try {
    return recipe.read(content);
  } catch {
    // Whatever is wrong with it, or with the machine: making it anew works, or says so.
    return undefined;
  }
}

export function memoryStore(): CompileStore & { readonly entries: Map<string, Uint8Array> } {
  const entries = new Map<string, Uint8Array>();
  return {
    entries,
    get: (key) => Promise.resolve(entries.get(key)),
    put: (key, bytes) => {
      entries.set(key, bytes);
      return Promise.resolve();
    },
  };
}
