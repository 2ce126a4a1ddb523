/**
 * Keeps what is costly to make (plans, packages, converted weights) under the key of what it was made from. The store is
 * given (files in Node, memory in tests). What comes back is checked: a damaged or foreign entry is made again.
 */
import { throwIfCancelled } from "../diagnostics/errors.ts";
import { hashBytes } from "../ir/hash.ts";

/** Bytes by key. `put` must be atomic: an entry is there whole or not at all. */
export interface CompileStore {
  readonly get: (key: string) => Promise<Uint8Array | undefined>;
  readonly put: (key: string, bytes: Uint8Array) => Promise<void>;
  readonly remove: (key: string) => Promise<void>;
}

export interface CacheResult {
  readonly bytes: Uint8Array;
  /** hit: from the store · made: there was none · repaired: what was there was damaged. */
  readonly how: "hit" | "made" | "repaired";
}

const MAGIC = "RLXC1";
const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Magic, key and content hash, each 32 hex digits, before the content. */
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

/** The bytes for `key`, from the store or made now. A store that fails costs time, never the result. */
export async function cached(
  store: CompileStore | undefined,
  key: string,
  make: (signal: AbortSignal | undefined) => Promise<Uint8Array>,
  signal?: AbortSignal,
): Promise<CacheResult> {
  const stored = await store?.get(key).catch(() => undefined);
  const content = stored && unwrap(key, stored);
  if (content) return { bytes: content, how: "hit" };
  throwIfCancelled(signal);
  const bytes = await make(signal);
  throwIfCancelled(signal);
  await store?.put(key, wrap(key, bytes)).catch(() => undefined);
  return { bytes, how: stored ? "repaired" : "made" };
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
    remove: (key) => {
      entries.delete(key);
      return Promise.resolve();
    },
  };
}
