/**
 * Frames as bytes, for a WebSocket: `[u32 length of JSON][JSON][zeros to 8][tail 0][zeros to 8][tail 1]…`, little-endian.
 * Typed arrays travel as tails, so there is no base64 and no copy by element; in the JSON `{"$b": i}` stands for tail i, and
 * an object of the user's with such a key is wrapped as `{"$o": …}`. Every length is checked before it is used, and what a
 * client sends is counted before it is parsed: text is cheap, but each value of a tree costs a hundred times its two letters.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { beyondTree } from "./jsonTree.ts";

const ARRAY_TYPES = {
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;
type ArrayTag = keyof typeof ARRAY_TYPES;
type WireArray = InstanceType<(typeof ARRAY_TYPES)[ArrayTag]>;

export interface CodecLimits {
  readonly maxBytes: number;
  readonly maxJsonBytes: number;
  readonly maxTails: number;
  /** Values in the JSON part, those inside others counted as well; undefined where the sender is trusted. */
  readonly maxValues: number | undefined;
}
export const DEFAULT_LIMITS: CodecLimits = {
  maxBytes: 256 << 20,
  maxJsonBytes: 64 << 20,
  maxTails: 4096,
  maxValues: undefined,
};
/**
 * What a server accepts: requests are small, uploads come in pieces of at most 8 MiB. The longest is a conversation: text of
 * millions of letters, but three values for each of its 10 000 messages.
 */
export const REQUEST_LIMITS: CodecLimits = {
  maxBytes: 16 << 20,
  maxJsonBytes: 8 << 20,
  maxTails: 64,
  maxValues: 1 << 16,
};

const LENGTH_BYTES = 4;
const ALIGN = 8;
const MAX_DEPTH = 64;
const align = (offset: number): number => Math.ceil(offset / ALIGN) * ALIGN;

/** The JSON part: the frame with its placeholders, and the type and byte length of each tail. */
interface Envelope {
  readonly f: unknown;
  readonly b: readonly (readonly [string, number])[];
}

export function encodeFrame(frame: unknown): Uint8Array<ArrayBuffer> {
  const tails: WireArray[] = [];
  const tags: (readonly [ArrayTag, number])[] = [];
  const f = pack(frame, tails, tags, 0);
  const json = new TextEncoder().encode(JSON.stringify({ f, b: tags } satisfies Envelope));
  let size = LENGTH_BYTES + json.byteLength;
  for (const tail of tails) size = align(size) + tail.byteLength;
  const bytes = new Uint8Array(size);
  new DataView(bytes.buffer).setUint32(0, json.byteLength, true);
  bytes.set(json, LENGTH_BYTES);
  let offset = LENGTH_BYTES + json.byteLength;
  for (const tail of tails) {
    offset = align(offset);
    bytes.set(new Uint8Array(tail.buffer, tail.byteOffset, tail.byteLength), offset);
    offset += tail.byteLength;
  }
  return bytes;
}

function pack(value: unknown, tails: WireArray[], tags: (readonly [ArrayTag, number])[], depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw fail(`nested deeper than ${MAX_DEPTH}`);
  if (ArrayBuffer.isView(value)) {
    const array = value as WireArray;
    const tag = tagOf(array);
    if (tag === undefined) throw fail("an array type that the wire does not carry");
    tags.push([tag, array.byteLength]);
    return { $b: tails.push(array) - 1 };
  }
  if (Array.isArray(value)) return value.map((item) => pack(item, tails, tags, depth + 1));
  // `fromEntries` defines own properties, so a key such as __proto__ stays an ordinary key.
  const packed = Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, pack(item, tails, tags, depth + 1)]),
  );
  return Object.hasOwn(packed, "$b") || Object.hasOwn(packed, "$o") ? { $o: packed } : packed;
}

function tagOf(array: WireArray): ArrayTag | undefined {
  for (const [tag, type] of Object.entries(ARRAY_TYPES))
    if (array.constructor === type || array instanceof type) return tag as ArrayTag;
  return undefined;
}

export function decodeFrame(bytes: Uint8Array, limits: CodecLimits = DEFAULT_LIMITS): unknown {
  if (bytes.byteLength > limits.maxBytes) throw fail(`${bytes.byteLength} bytes, at most ${limits.maxBytes}`);
  if (bytes.byteLength < LENGTH_BYTES) throw fail(`${bytes.byteLength} bytes are too few`);
  const jsonLength = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0, true);
  if (jsonLength > limits.maxJsonBytes || LENGTH_BYTES + jsonLength > bytes.byteLength)
    throw fail(`a JSON part of ${jsonLength} bytes in ${bytes.byteLength}`);
  const json = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + jsonLength);
  if (limits.maxValues !== undefined) checkTree(json, limits.maxValues);
  const envelope = parseJson(json);
  const tails = readTails(bytes, LENGTH_BYTES + jsonLength, envelope.b, limits);
  const used = new Set<number>();
  const frame = unpack(envelope.f, tails, used, 0);
  if (used.size !== tails.length) throw fail("a binary part that nothing refers to");
  return frame;
}

/** The envelope and the frame in it are two levels. */
function checkTree(bytes: Uint8Array, maxValues: number): void {
  const beyond = beyondTree(bytes, { depth: MAX_DEPTH + 2, values: maxValues });
  if (beyond === "depth") throw fail(`nested deeper than ${MAX_DEPTH}`);
  if (beyond === "values") throw fail(`more than ${maxValues} values`);
}

function parseJson(bytes: Uint8Array): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw fail("the JSON part does not parse");
  }
  if (typeof value !== "object" || value === null || !("f" in value) || !("b" in value) || !Array.isArray(value.b))
    throw fail("the JSON part is not an envelope");
  return { f: value.f, b: value.b as Envelope["b"] };
}

function readTails(bytes: Uint8Array, from: number, tags: readonly unknown[], limits: CodecLimits): WireArray[] {
  if (tags.length > limits.maxTails) throw fail(`${tags.length} binary parts, at most ${limits.maxTails}`);
  let offset = from;
  const tails: WireArray[] = [];
  for (const tag of tags) {
    if (!Array.isArray(tag)) throw fail("a binary part without type and length");
    const [name, byteLength] = tag as readonly unknown[];
    if (typeof name !== "string" || !Object.hasOwn(ARRAY_TYPES, name)) throw fail("a binary part of unknown type");
    if (typeof byteLength !== "number" || !Number.isSafeInteger(byteLength) || byteLength < 0)
      throw fail("a binary part of bad length");
    offset = align(offset);
    if (offset + byteLength > bytes.byteLength) throw fail("a binary part runs past the end");
    tails.push(readArray(name as ArrayTag, bytes, offset, byteLength));
    offset += byteLength;
  }
  if (offset !== bytes.byteLength) throw fail(`${bytes.byteLength - offset} bytes too many`);
  return tails;
}

/** A copy of its own: the message buffer of a WebSocket need not be aligned, and is reused by some. */
function readArray(tag: ArrayTag, bytes: Uint8Array, offset: number, byteLength: number): WireArray {
  const type = ARRAY_TYPES[tag];
  if (byteLength % type.BYTES_PER_ELEMENT !== 0) throw fail("a binary part of a broken number of elements");
  // Not `slice`: what a Node channel delivers is a Buffer, whose `slice` is a view of the whole message.
  const own = new Uint8Array(byteLength);
  own.set(bytes.subarray(offset, offset + byteLength));
  return new type(own.buffer);
}

/** In place: the parsed tree is ours alone, and most of it needs no unpacking. Every key is an own one, `__proto__` as well. */
function unpack(value: unknown, tails: readonly WireArray[], used: Set<number>, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw fail(`nested deeper than ${MAX_DEPTH}`);
  const only = onlyKey(value);
  if (only === "$b") return takeTail((value as { readonly $b: unknown }).$b, tails, used);
  const inner = only === "$o" ? (value as { readonly $o: unknown }).$o : value;
  if (typeof inner !== "object" || inner === null || (only === "$o" && Array.isArray(inner)))
    throw fail("a wrapped value that is not an object");
  if (Array.isArray(inner)) {
    const items = inner as unknown[];
    for (const [at, item] of items.entries())
      if (typeof item === "object") items[at] = unpack(item, tails, used, depth + 1);
    return items;
  }
  const fields = inner as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const item = fields[key];
    if (typeof item === "object") fields[key] = unpack(item, tails, used, depth + 1);
  }
  return fields;
}

/** The key of an object that has just one. */
function onlyKey(value: object): string | undefined {
  if (Array.isArray(value) || (!Object.hasOwn(value, "$b") && !Object.hasOwn(value, "$o"))) return undefined;
  const keys = Object.keys(value);
  return keys.length === 1 ? keys[0] : undefined;
}

function takeTail(index: unknown, tails: readonly WireArray[], used: Set<number>): WireArray {
  const tail = typeof index === "number" ? tails[index] : undefined;
  if (tail === undefined || used.has(index as number))
    throw fail("a reference to a binary part that is not there or taken");
  used.add(index as number);
  return tail;
}

function fail(what: string): WorkbenchError {
  return new WorkbenchError("CONTRACT_FRAME", `[contract] bad message: ${what}`);
}
