/** Damaged files of Hugging Face folders, and of GGUFs in other forms: what they are made of, and how they are opened. */
import type { ByteSource, SiblingOpener } from "../formats/byteSource.ts";
import { memorySource } from "../formats/byteSource.ts";
import { openModelFile } from "../formats/openModel.ts";
import { describeModel } from "../models/describe.ts";
import { createTokenizer } from "../tokenizer/tokenizer.ts";
import type { Attack } from "./hostileGguf.ts";
import { victimHeader } from "./hostileGguf.ts";
import { mutated } from "./mutateGguf.ts";
import { seededRandom } from "./random.ts";
import { BYTE_LEVEL, TOY_FOLDERS, toyTokenizer } from "./toyFolders.ts";

const toy = TOY_FOLDERS.find(({ title }) => title === "mixtral");

/** The header of a safetensors file; its data would be zeros. */
function safetensorsHeader(): { readonly bytes: Uint8Array; readonly total: number } {
  let at = 0;
  const header = Object.fromEntries(
    (toy?.tensors ?? []).map(([name, shape]) => {
      const begin = at;
      at += 4 * shape.reduce((a, b) => a * b, 1);
      return [name, { dtype: "F32", shape, data_offsets: [begin, at] }];
    }),
  );
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return { bytes, total: bytes.length + at };
}

const files: Readonly<Record<string, unknown>> = {
  "config.json": toy?.config,
  "modules.json": [{ idx: 0, name: "0", path: "", type: "sentence_transformers.models.Transformer" }],
  ...toyTokenizer(BYTE_LEVEL),
};

const encoded = (name: string): Uint8Array => new TextEncoder().encode(JSON.stringify(files[name]));

const siblings =
  (own: Readonly<Record<string, ByteSource>>, present: boolean): SiblingOpener =>
  async (name) =>
    own[name] ?? (present && name in files ? memorySource(name, encoded(name)) : undefined);

/** Other values for a number or a text of JSON. */
const LIES = [
  "0",
  "-1",
  "1",
  "2",
  "3",
  "1.5",
  "1e9",
  "9007199254740993",
  "1e300",
  '""',
  '"x"',
  "null",
  "true",
  "[]",
  "{}",
  "[1]",
];

/** Every other file is damaged as JSON: some of its values, or names, are others, or two names change places. */
function damagedJson(bytes: Uint8Array, seed: number, headBytes: number): Uint8Array {
  if (seed % 2 === 0) return mutated(bytes, seed);
  const random = seededRandom(seed);
  const text = new TextDecoder().decode(bytes.subarray(headBytes));
  const values = [...text.matchAll(/-?\d+(?:\.\d+)?|"[^"\\]*"|null|true|false/gu)];
  let changed = text;
  if (seed % 4 === 1) {
    // Two names change places.
    const names = values.filter(({ index, 0: value }) => text[index + value.length] === ":");
    const [a, b] = [random.pick(names)[0], random.pick(names)[0]];
    changed = text.replaceAll(a, "\u0000").replaceAll(b, a).replaceAll("\u0000", b);
  } else
    for (let n = 1 + random.integer(2); n > 0; n--) {
      const value = random.pick(values);
      const isName = text[value.index + value[0].length] === ":";
      const other = isName
        ? JSON.stringify(random.pick(["x", "data_offsets", "type", "vocab", "__metadata__"]))
        : random.pick(LIES);
      // Only the first change is where it was seen.
      changed = changed.slice(0, value.index) + other + changed.slice(value.index + value[0].length);
    }
  const body = new TextEncoder().encode(changed);
  const out = new Uint8Array(headBytes + body.length);
  if (headBytes === 8) new DataView(out.buffer).setBigUint64(0, BigInt(body.length), true);
  out.set(body, headBytes);
  return out;
}

/** As far as a person sees of it; a tensor of each kind is read. */
async function touch(source: ByteSource, openSibling: SiblingOpener): Promise<void> {
  const file = await openModelFile(source, { openSibling });
  describeModel(file);
  const tensor = file.tensors.at(-1);
  if (tensor !== undefined) await file.readTensor(tensor, { length: Math.min(64, tensor.byteLength) });
  if (file.metadata.has("tokenizer.ggml.model")) createTokenizer(file).encode("the rest 12");
}

/** A safetensors file alone, or in a folder with everything else in order. */
export const damagedSafetensors = (inFolder: boolean): Attack => ({
  victim: safetensorsHeader(),
  damage: (bytes, seed) => damagedJson(bytes, seed, 8),
  work: (source) => touch({ ...source, name: "model.safetensors" }, siblings({}, inFolder)),
});

/** One of the small files, with weights in order. */
export const damagedFile = (name: string): Attack => ({
  victim: { bytes: encoded(name), total: encoded(name).length },
  damage: (bytes, seed) => damagedJson(bytes, seed, 0),
  work: (source) => {
    const { bytes, total } = safetensorsHeader();
    const weights = { ...memorySource("model.safetensors", bytes), byteLength: total };
    const read: ByteSource["read"] = async (offset, length) => {
      const out = new Uint8Array(length);
      if (offset < bytes.length) out.set(bytes.subarray(offset, Math.min(bytes.length, offset + length)));
      return out;
    };
    return touch({ ...weights, read }, siblings({ [name]: { ...source, name } }, true));
  },
});

/** A GGUF of version 1, or in big-endian order: the usual one with its numbers rewritten. */
export function damagedForm(bigEndian: boolean): Attack {
  const { bytes, total } = victimHeader();
  return {
    victim: { bytes: rewritten(bytes, bigEndian), total },
    work: (source) => touch(source, async () => undefined),
  };
}

/** A header as version 1 in little-endian order, or as version 3 in big-endian order. Its numbers are of four bytes. */
export function rewritten(bytes: Uint8Array, bigEndian: boolean): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const out: number[] = [...bytes.subarray(0, 4)];
  let at = 8;
  const put = (value: bigint, size: number): void => {
    const part = Array.from({ length: size }, (_, i) => Number((value >> BigInt(8 * i)) & 255n));
    out.push(...(bigEndian ? part.reverse() : part));
  };
  const word = (): number => {
    const value = view.getUint32(at, true);
    at += 4;
    put(BigInt(value), 4);
    return value;
  };
  const length = (): number => {
    const value = Number(view.getBigUint64(at, true));
    at += 8;
    put(BigInt(value), bigEndian ? 8 : 4);
    return value;
  };
  const text = (): void => {
    const count = length();
    out.push(...bytes.subarray(at, at + count));
    at += count;
  };
  const value = (type: number): void => {
    if (type === 8) return text();
    if (type !== 9) return void word();
    const inner = word();
    for (let left = length(); left > 0; left--) value(inner);
  };
  put(bigEndian ? 3n : 1n, 4);
  const tensors = length();
  for (let keys = length(); keys > 0; keys--) {
    text();
    value(word());
  }
  for (let i = 0; i < tensors; i++) {
    text();
    for (let rank = word(); rank > 0; rank--) length();
    word();
    put(view.getBigUint64(at, true), 8);
    at += 8;
  }
  return Uint8Array.from(out);
}
