/** What quantising a file will do: the type of every tensor, and the size of the result, before anything is read. */
import { WorkbenchError } from "../diagnostics/errors.ts";
import { requireNoAdapters } from "../formats/gguf/adapters.ts";
import { numberEntry, withEntries } from "../formats/gguf/encode.ts";
import type { GgufFile, GgufTensor } from "../formats/gguf/file.ts";
import { requireRead } from "../formats/gguf/file.ts";
import { quote } from "../formats/gguf/header.ts";
import { matchesName } from "../formats/gguf/namePattern.ts";
import type { GgmlType } from "../formats/gguf/types.ts";
import { ggmlTypeByName, packedBytes } from "../formats/gguf/types.ts";
import type { MetadataEntry } from "../formats/gguf/values.ts";
import { encodeHeader } from "../formats/gguf/write.ts";
import { isUnpacked } from "../ir/dtype.ts";
import type { ModelFacts, Recipe } from "./recipes.ts";
import { fileTypeOf, isQuantised, typeFor } from "./recipes.ts";

/** A type for the tensors whose names match: `*` stands for anything, a pattern without it for a part of the name. */
export interface Override {
  readonly pattern: string;
  readonly type: string;
}

export interface QuantizeOptions {
  readonly recipe: Recipe;
  /** The first that matches counts. */
  readonly overrides?: readonly Override[];
  /** Of the output matrix and of the embedding, over what the recipe says. */
  readonly output?: string;
  readonly embedding?: string;
  /** Every weight gets the recipe's own type. */
  readonly pure?: boolean;
  readonly importance?: boolean;
}

export interface PlannedTensor {
  readonly tensor: GgufTensor;
  readonly type: GgmlType;
  readonly byteLength: number;
  /** Why it is not what the recipe says: rows that are no whole blocks. */
  readonly standsInFor?: string;
}

export interface QuantizePlan {
  readonly recipe: Recipe;
  readonly entries: readonly MetadataEntry[];
  readonly tensors: readonly PlannedTensor[];
  /** Of the tensors, and of the whole file. */
  readonly byteLength: number;
  readonly fileBytes: number;
  readonly bitsPerWeight: number;
}

export function planQuantize(file: GgufFile, options: QuantizeOptions): QuantizePlan {
  requireRead(file, "quantize");
  requireNoAdapters(file, "quantize");
  // A wrong name is refused even where no tensor asks for it.
  for (const name of [options.output, options.embedding, ...(options.overrides ?? []).map(({ type }) => type)])
    if (name !== undefined) typeNamed(name);
  for (const { pattern } of options.overrides ?? []) requireMatch(file, pattern);
  const model = factsOf(file, options.importance === true);
  const places = blockPlaces(file);
  const tensors = file.tensors.map((tensor) => plannedTensor(tensor, places.get(tensor.name) ?? 0, model, options));
  const byteLength = tensors.reduce((sum, tensor) => sum + tensor.byteLength, 0);
  const elements = tensors.reduce((sum, { tensor }) => sum + tensor.elements, 0);
  const entries = entriesFor(file, options.recipe);
  const shapes = tensors.map(({ tensor: { name, dims }, type, byteLength }) => ({ name, type, dims, byteLength }));
  return {
    recipe: options.recipe,
    entries,
    tensors,
    byteLength,
    fileBytes: encodeHeader({ entries, tensors: shapes }).total,
    bitsPerWeight: elements === 0 ? 0 : (byteLength * 8) / elements,
  };
}

/** The keys of the file, with its new type, as one file. */
const entriesFor = (file: GgufFile, recipe: Recipe): readonly MetadataEntry[] =>
  withEntries(file.metadata.entries, {
    "general.file_type": numberEntry("general.file_type", "u32", fileTypeOf(recipe)),
    "general.quantization_version": numberEntry("general.quantization_version", "u32", 2),
    "split.no": undefined,
    "split.count": undefined,
    "split.tensors.count": undefined,
  });

function plannedTensor(tensor: GgufTensor, block: number, model: ModelFacts, options: QuantizeOptions): PlannedTensor {
  const { name, dims } = tensor;
  const planned = (type: GgmlType, standsInFor?: string): PlannedTensor => {
    const isKept = type.id === tensor.type.id;
    if (!isKept) requirePackable(tensor, type);
    return {
      tensor,
      type,
      byteLength: isKept ? tensor.byteLength : packedBytes(type, tensor.elements),
      ...(standsInFor === undefined ? {} : { standsInFor }),
    };
  };
  const chosen = chosenType(name, options);
  const columns = dims[0] ?? 1;
  if (chosen !== undefined) {
    if (columns % chosen.blockSize !== 0)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[quantize] ${quote(name)} as ${chosen.name}: got rows of ${columns}, expected a multiple of ${chosen.blockSize}`,
        { hint: "Choose a type with smaller blocks for it." },
      );
    return planned(chosen);
  }
  if (!isQuantised(name, dims.length)) return planned(tensor.type);
  const { type, standsInFor } = typeFor(options.recipe, { name, columns, block }, model, options.pure);
  return planned(type, standsInFor);
}

/** The CPU engine packs what it unpacks, but for the form that ggml gives to activations. */
function requirePackable({ name, type: from }: GgufTensor, to: GgmlType): void {
  const elements = [from.element, to.element];
  if (to.element !== "q8_k" && elements.every((element) => element !== undefined && isUnpacked(element))) return;
  throw new WorkbenchError(
    "UNSUPPORTED_TENSOR_TYPE",
    `[quantize] ${quote(name)}: got ${from.name} to pack as ${to.name}, expected floats or a packed type`,
    { hint: "Choose another type for this tensor, or start from a file in f16, bf16 or f32." },
  );
}

function chosenType(name: string, { overrides = [], output, embedding }: QuantizeOptions): GgmlType | undefined {
  const own = overrides.find(({ pattern }) => matchesName(name, pattern))?.type;
  const type = own ?? (name === "output.weight" ? output : name === "token_embd.weight" ? embedding : undefined);
  return type === undefined ? undefined : typeNamed(type);
}

function typeNamed(name: string): GgmlType {
  const found = ggmlTypeByName(name);
  if (found !== undefined) return found;
  throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] type: got ${name}, expected a type of ggml`, {
    hint: "Name a type such as q4_k, iq4_nl or f16.",
  });
}

/** A pattern for nothing is a slip, which would stay unseen in the file. */
function requireMatch(file: GgufFile, pattern: string): void {
  if (file.tensors.some(({ name }) => matchesName(name, pattern))) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] pattern ${quote(pattern)}: got no tensor with such a name`, {
    hint: "rlx tensors lists the names; * stands for anything.",
  });
}

/** For each weight in a block, how many blocks before it have such a weight. */
function blockPlaces(file: GgufFile): ReadonlyMap<string, number> {
  const blocks = new Map<string, number[]>();
  for (const { name } of file.tensors) {
    const [, number, role] = /^blk\.(\d+)\.(.+)$/u.exec(name) ?? [];
    if (number === undefined || role === undefined) continue;
    const list = blocks.get(role) ?? [];
    list.push(Number(number));
    blocks.set(role, list);
  }
  const places = new Map<string, number>();
  for (const [role, list] of blocks)
    list.toSorted((a, b) => a - b).forEach((number, place) => places.set(`blk.${number}.${role}`, place));
  return places;
}

function factsOf(file: GgufFile, importance: boolean): ModelFacts {
  const architecture = file.metadata.optionalString("general.architecture") ?? "";
  const number = (key: string): number | undefined => largestOf(file.metadata.countOrList(`${architecture}.${key}`));
  const count = (pattern: RegExp): number => file.tensors.filter(({ name }) => pattern.test(name)).length;
  const heads = number("attention.head_count") ?? 1;
  return {
    architecture,
    attentionBlocks: count(/attn_(?:v|qkv|kv_b)\.weight$/u),
    blocks: number("block_count") ?? 0,
    experts: number("expert_count") ?? 0,
    groups: heads / Math.max(1, number("attention.head_count_kv") ?? heads),
    tied: file.tensor("output.weight") === undefined,
    importance,
  };
}

/** Keys may have a number for each block; the largest stands for all. */
const largestOf = (value: number | readonly number[] | undefined): number | undefined =>
  typeof value === "object" ? Math.max(...value) : value;
