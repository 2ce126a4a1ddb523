/**
 * Toy files of the families' samples: the sample says the keys, the family its tensors, Python writes random weights. llama.cpp
 * refuses a file whose tensors are not those that it expects, so a wrong list does not agree with itself.
 */
import { join } from "node:path";
import { boolEntry, numberEntry, numbersEntry, stringEntry, stringsEntry } from "../formats/gguf/encode.ts";
import { ggmlTypeByName } from "../formats/gguf/types.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { openGguf } from "../formats/gguf/open.ts";
import type { TensorShape, TensorToWrite } from "../formats/gguf/write.ts";
import { contentsOf, makeHeaderOnly, writeGguf } from "../formats/gguf/write.ts";
import { FAMILIES } from "../models/families/index.ts";
import type { Family, FamilySample, SampleKeys } from "../models/family.ts";
import { openFileSink, openFileSource } from "../node/files/fileByteSource.ts";
import { byteVocabulary } from "./byteVocabulary.ts";
import type { MadeModel } from "./decoderRuns.ts";
import { tensor } from "../ir/type.ts";
import { sharedOracleProcess } from "./oracleProcess.ts";
import type { OracleValue } from "./oracleProcess.ts";
import { tinyParam } from "./tinyModels.ts";

/** Enough for a byte alphabet, its special tokens and some merges. */
export const TOY_VOCABULARY = 301;

type Value = SampleKeys[string];
type Kind = "u32" | "u64" | "f32" | "bool" | "string";

/** Keys that hold a float whatever their value, as converters write them. */
const FLOATS =
  /freq_base|epsilon|factor|(?<!re)scale|softcapping|\beps\b|alpha|beta|clamp|attention\.value_scale|swiglu|multiplier/u;

function kindOf(key: string, value: Value): Kind {
  const sample = typeof value === "object" ? value[0] : value;
  if (typeof sample === "boolean") return "bool";
  if (typeof sample === "string") return "string";
  if (typeof sample === "bigint") return "u64";
  return FLOATS.test(key) ? "f32" : "u32";
}

const asNumber = (value: number | boolean | string | bigint): number | bigint =>
  typeof value === "bigint" ? value : Number(value);

function entryOf(key: string, value: Value): MetadataEntry {
  const kind = kindOf(key, value);
  if (typeof value === "object")
    return kind === "string" ? stringsEntry(key, value.map(String)) : numbersEntry(key, kind, value.map(asNumber));
  if (typeof value === "boolean") return boolEntry(key, value);
  if (typeof value === "string") return stringEntry(key, value);
  return numberEntry(key, kind === "f32" ? "f32" : "u32", value);
}

const GGUF_KINDS: Readonly<Record<Kind, string>> = {
  u32: "uint32",
  u64: "uint64",
  f32: "float32",
  bool: "bool",
  string: "string",
};
/** What the Python writer is told of a key; big numbers as text. */
const keyToWrite = ([key, value]: readonly [string, Value]): readonly [string, string, OracleValue] => {
  const kind = GGUF_KINDS[kindOf(key, value)];
  if (typeof value !== "object") return [key, kind, value];
  return [key, `array ${kind}`, value.map((each) => (typeof each === "bigint" ? String(each) : each))];
};

function shapeOf(name: string, sizes: readonly number[]): TensorShape {
  const type = ggmlTypeByName("f32");
  if (type === undefined) throw new Error("f32 is a type");
  return { name, type, dims: [...sizes].reverse() };
}

const withPrefix = (sample: FamilySample): readonly (readonly [string, Value])[] =>
  Object.entries(sample.keys).map(([key, value]) => [
    key.includes(":") ? key.slice(1) : `${sample.architecture}.${key}`,
    value,
  ]);

/** The keys of a file of this sample. */
export const sampleEntries = (sample: FamilySample): readonly MetadataEntry[] => [
  stringEntry("general.architecture", sample.architecture),
  ...withPrefix(sample).map(([key, value]) => entryOf(key, value)),
];

/** A file of this sample without weights. */
export async function sampleHeader(family: Family, sample: FamilySample): Promise<GgufFile> {
  const tensors = await toyTensors(family, sample);
  return makeHeaderOnly(sample.title, {
    entries: sampleEntries(sample),
    tensors: tensors.map(([name, sizes]) => shapeOf(name, sizes)),
  });
}

/** Name and sizes of the tensors that a file of this sample has. */
export async function toyTensors(family: Family, sample: FamilySample): Promise<readonly NamedSizes[]> {
  const width = sample.keys["embedding_length"];
  if (typeof width !== "number") throw new Error(`${sample.title}: expected an embedding_length`);
  const table = [TOY_VOCABULARY, width];
  const marks = {
    "token_embd.weight": table,
    ...(sample.untied === true && { "output.weight": table }),
    ...sample.marks,
  };
  const header = await makeHeaderOnly(sample.title, {
    entries: sampleEntries(sample),
    tensors: Object.entries(marks).map(([name, sizes]) => shapeOf(name, sizes)),
  });
  const { tensors } = family.read(header, sample.architecture);
  // A sample that has a matrix's weight means no scale by it: those are called `….scale`.
  const isPresent = (name: string): boolean =>
    name in marks || (sample.has?.test(name) === true && !name.endsWith(".weight.scale"));
  const trunk = tensors(isPresent).map(({ name, shape }) => [name, shape] as const);
  const read = new Set(trunk.map(([name]) => name));
  const beside = Object.entries({ ...sample.marks, ...sample.beside }).filter(([name]) => !read.has(name));
  return [...trunk, ...beside, ...draftTensors(trunk, sample.drafts ?? 0, width)];
}

type NamedSizes = readonly [name: string, sizes: readonly number[]];

/** Layers like the last one, with the parts that join a guess to what was read. */
function draftTensors(trunk: readonly NamedSizes[], count: number, width: number): readonly NamedSizes[] {
  const layerOf = (name: string): number => Number(/^blk\.(\d+)\./u.exec(name)?.[1] ?? -1);
  const last = Math.max(...trunk.map(([name]) => layerOf(name)));
  return Array.from({ length: count }, (_, i) => `blk.${last + 1 + i}.`).flatMap((block): readonly NamedSizes[] => [
    ...trunk
      .filter(([name]) => layerOf(name) === last)
      .map(([name, sizes]) => [name.replace(/^blk\.\d+\./u, block), sizes] as const),
    [`${block}nextn.eh_proj.weight`, [width, 2 * width]],
    [`${block}nextn.enorm.weight`, [width]],
    [`${block}nextn.hnorm.weight`, [width]],
  ]);
}

export async function writeToy(folder: string, family: Family, sample: FamilySample, type: string): Promise<MadeModel> {
  const stem = join(folder, `${sample.architecture}-${sample.title}-${type}`.replaceAll(/[^\w.-]+/gu, "-"));
  const made = { path: `${stem}.gguf`, exact: `${stem}-exact.gguf` };
  await sharedOracleProcess("python").ask("model.toy", {
    architecture: sample.architecture,
    keys: withPrefix(sample).map(keyToWrite),
    tensors: await toyTensors(family, sample),
    vocabulary: TOY_VOCABULARY,
    out: made.path,
    exact: made.exact,
    file_type: type,
  });
  return made;
}

/** Random values of a tensor without Python. */
export function plainValues(name: string, sizes: readonly number[]): Float32Array {
  const values = Float32Array.from(tinyParam(name, tensor("f32", sizes)).data);
  if (name.endsWith("ffn_gate_tid2eid.weight")) values.forEach((_, i) => (values[i] = i % (sizes[1] ?? 1)));
  // A decay is negative.
  if (name.endsWith("ssm_a")) values.forEach((value, i) => (values[i] = -Math.exp(value)));
  return values;
}

export interface PlainToyOptions {
  readonly vocabulary?: readonly MetadataEntry[];
  /** What the file calls a tensor. */
  readonly named?: (name: string) => string;
}

/** A file of the sample without Python: random weights for tests that compare us with ourselves. */
export async function writePlainToy(
  path: string,
  family: Family,
  sample: FamilySample,
  { vocabulary = byteVocabulary({ rows: TOY_VOCABULARY }), named = (name) => name }: PlainToyOptions = {},
): Promise<void> {
  const tensors = (await toyTensors(family, sample)).map(([name, sizes]): TensorToWrite => {
    const values = plainValues(name, sizes);
    return { ...shapeOf(named(name), sizes), data: () => [new Uint8Array(values.buffer)] };
  });
  const entries = [...sampleEntries(sample), ...vocabulary];
  await writeGguf(await openFileSink(path), { entries, tensors });
}

/** The first sample of an architecture, as a plain toy. */
export async function writePlainSample(path: string, architecture: string): Promise<void> {
  const family = FAMILIES.find(({ architectures }) => architectures.includes(architecture));
  const sample = family?.samples.find((each) => each.architecture === architecture);
  if (family === undefined || sample === undefined) throw new Error(`${architecture} has a sample`);
  await writePlainToy(path, family, sample);
}

/** What a toy adapter changes, and by how much. */
export interface ToyAdapter {
  readonly name: string;
  readonly rank: number;
  /** 0 for a file whose scale does not depend on the rank. */
  readonly alpha: number;
  /** The model's tensors that it changes. */
  readonly changes: RegExp;
  readonly seed?: number;
}

/** A LoRA adapter with random weights for a toy file of the sample. */
export async function writeToyAdapter(
  folder: string,
  family: Family,
  sample: FamilySample,
  { name, rank, alpha, changes, seed = 1 }: ToyAdapter,
): Promise<string> {
  const out = join(folder, `${name}.gguf`);
  const changed = (await toyTensors(family, sample)).filter(([tensor]) => changes.test(tensor));
  await sharedOracleProcess("python").ask("model.toy", {
    architecture: sample.architecture,
    keys: [
      ["general.type", "string", "adapter"],
      ["adapter.type", "string", "lora"],
      ["adapter.lora.alpha", "float32", alpha],
    ],
    tensors: changed.flatMap(([tensor, sizes]) => lowRankOf(tensor, sizes, rank)),
    vocabulary: TOY_VOCABULARY,
    out,
    seed,
  });
  return out;
}

function lowRankOf(tensor: string, sizes: readonly number[], rank: number): readonly NamedSizes[] {
  const [rows = 0, columns = 0] = sizes.slice(-2);
  const before = sizes.slice(0, -2);
  const isEmbedding = tensor === "token_embd.weight";
  return [
    [`${tensor}.lora_a`, isEmbedding ? [rows, rank] : [...before, rank, columns]],
    [`${tensor}.lora_b`, isEmbedding ? [columns, rank] : [...before, rows, rank]],
  ];
}

/** The same file as converters once wrote mixtures: each expert's matrices are tensors of their own. */
export async function splitExperts(from: string, to: string): Promise<void> {
  const file = await openGguf(await openFileSource(from));
  const { entries, tensors } = contentsOf(file);
  const parts = tensors.flatMap((tensor): readonly TensorToWrite[] => {
    const found = /^(blk\.\d+\.ffn_(?:gate|up|down))_exps\.weight$/u.exec(tensor.name);
    const [columns = 0, rows = 0, experts = 0] = tensor.dims;
    if (found === null) return [tensor];
    const stored = file.requireTensor(tensor.name);
    const length = stored.byteLength / experts;
    return Array.from({ length: experts }, (_, i) => ({
      name: `${found[1] ?? ""}.${i}.weight`,
      type: tensor.type,
      dims: [columns, rows],
      async *data() {
        yield await file.readTensor(stored, { offset: i * length, length });
      },
    }));
  });
  await writeGguf(await openFileSink(to), { entries, tensors: parts });
  await file.close();
}
