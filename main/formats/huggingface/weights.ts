/**
 * The tensors of a GGUF from those of safetensors files: names by the family's table, and what has
 * to change on the way. Matrices keep their type, vectors and what ggml wants exact become f32.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NamedTensor } from "../gguf/madeGguf.ts";
import { quote } from "../gguf/header.ts";
import { safetensorsType } from "../gguf/foreignTypes.ts";
import type { GgmlType } from "../gguf/types.ts";
import { ggmlTypeByName, packedBytes } from "../gguf/types.ts";
import type { SafetensorsFile, SafeTensor } from "../safetensors/header.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { F32, converted, elementsOf, isExactly32, joined } from "../tensorBytes.ts";
import { changed } from "./changes.ts";
import type { HfFamily, Target } from "./parts.ts";
import { LEFT_OUT, PREFIXES } from "./families.ts";
import type { HfConfig } from "./keys.ts";
import { layersOf, withoutRopeFactors } from "./keys.ts";
import { mxfp4Bytes } from "./mxfp4.ts";
import type { StoredBytes } from "./mxfp4.ts";

/** What the element types of safetensors are in a GGUF. */
const TYPES: Readonly<Record<string, string>> = {
  F64: "f64",
  F32: "f32",
  F16: "f16",
  BF16: "bf16",
  I64: "i64",
  I32: "i32",
  I16: "i16",
  I8: "i8",
};

export interface StoredTensor {
  readonly file: SafetensorsFile;
  readonly tensor: SafeTensor;
}

const typeOf = ({ tensor: { type } }: StoredTensor): GgmlType | undefined => ggmlTypeByName(TYPES[type] ?? "");

/** Bytes of a stored tensor; its sizes of 1 in front are dropped where there are more than four. */
export function storedBytes(stored: StoredTensor): TensorBytes {
  const { file, tensor } = stored;
  const { source } = file;
  const type = typeOf(stored);
  if (type === undefined)
    throw new WorkbenchError(
      "UNSUPPORTED_TENSOR_TYPE",
      `[${source.name}] tensor ${quote(tensor.name)}: got ${tensor.type}, expected one of ${Object.keys(TYPES).join(", ")}`,
      {
        hint: tensor.type.startsWith("F8")
          ? "8-bit floats have scales beside them whose form differs from model to model: use the model's BF16 files."
          : "Use the model's BF16, F16 or F32 files.",
        details: { tensor: tensor.name, type: tensor.type },
      },
    );
  const dims = tensor.shape.toReversed();
  while (dims.length > 4 && dims.at(-1) === 1) dims.pop();
  if (dims.length > 4 || tensor.elements === 0)
    throw new WorkbenchError(
      "UNSUPPORTED_TENSOR_TYPE",
      `[${source.name}] tensor ${quote(tensor.name)}: got sizes ${tensor.shape.join(" × ")}, expected at most four, none of them 0`,
      { hint: "A GGUF has no tensors of this form.", details: { tensor: tensor.name } },
    );
  return { type, dims, byteLength: tensor.byteLength, read: plainBytes(stored).read };
}

/** To be looked at: of any type, the fastest of more than four sizes as one. Undefined for a tensor without numbers. */
export function shownBytes(stored: StoredTensor): TensorBytes | undefined {
  const { shape, elements, byteLength, type } = stored.tensor;
  if (elements === 0) return undefined;
  const dims = shape.toReversed();
  while (dims.length > 4) dims.splice(0, 2, (dims[0] ?? 1) * (dims[1] ?? 1));
  return { type: typeOf(stored) ?? safetensorsType(type), dims, byteLength, read: plainBytes(stored).read };
}

/** All tensors by the names they have in the files. */
export function byName(files: readonly SafetensorsFile[]): ReadonlyMap<string, StoredTensor> {
  const found = new Map<string, StoredTensor>();
  for (const file of files)
    for (const tensor of file.tensors) {
      const other = found.get(tensor.name);
      if (other !== undefined)
        throw new WorkbenchError(
          "INPUT_SPLIT",
          `[${file.source.name}] the tensor ${quote(tensor.name)} is also in ${other.file.source.name}`,
          { hint: "Files of two models lie in this folder: keep those of one." },
        );
      found.set(tensor.name, { file, tensor });
    }
  return found;
}

/** Where a tensor goes. */
interface Place {
  readonly target: Target;
  readonly expert: number | undefined;
}

export function familyTensors(
  family: HfFamily,
  config: HfConfig,
  stored: ReadonlyMap<string, StoredTensor>,
): readonly NamedTensor[] {
  const rules = compiled(family);
  const tied = family.storedOutput !== true && (config.json.flag("tie_word_embeddings") ?? family.isTied === true);
  const made = new Map<string, TensorBytes>();
  const experts = new Map<string, TensorBytes[]>();
  const layers = layersOf(config);
  for (const [name, tensor] of stored) {
    if (isBehind(name, layers) || isScale(name, stored)) continue;
    const places = placesOf(rules, name);
    if (places === undefined && LEFT_OUT.test(withoutPrefix(name))) continue;
    if (places === undefined) throw unknownTensor(family, config, name);
    for (const { target, expert } of places) {
      if ((tied && target.name === "output.weight") || (target.isCopy === true && made.has(target.name))) continue;
      // Biases of norms are stored as they are.
      const change = target.change === "plus one" && target.name.endsWith(".bias") ? undefined : target.change;
      const own = whole(config, name, changed(bytesOf(name, tensor, stored), change, config));
      const bytes = finished(target.name, own);
      if (expert === undefined) {
        put(config, made, target.name, bytes);
        continue;
      }
      const list = experts.get(target.name) ?? [];
      if (list[expert] !== undefined) throw twice(config, target.name);
      list[expert] = bytes;
      experts.set(target.name, list);
    }
  }
  for (const [name, list] of experts) put(config, made, name, stacked(config, name, list));
  if (family.more === undefined) withoutRopeFactors(config, family.architecture);
  for (const [name, tensor] of Object.entries(family.more?.(config) ?? {})) put(config, made, name, tensor);
  const embedding = made.get("token_embd.weight");
  if (family.ownOutput === true && embedding !== undefined && !made.has("output.weight"))
    made.set("output.weight", embedding);
  return inOrder([...made]);
}

/** Layers behind the last guess ahead; the trunk goes without them. */
const isBehind = (name: string, layers: number): boolean =>
  Number(/(?:^|\.)layers\.(\d{1,4})\./u.exec(name)?.[1] ?? -1) >= layers;

/** Read with the blocks that they belong to. */
const isScale = (name: string, stored: ReadonlyMap<string, StoredTensor>): boolean =>
  name.endsWith("_scales") && stored.has(name.replace(/_scales$/u, "_blocks"));

function bytesOf(name: string, tensor: StoredTensor, stored: ReadonlyMap<string, StoredTensor>): TensorBytes {
  const scales = name.endsWith("_blocks") ? stored.get(name.replace(/_blocks$/u, "_scales")) : undefined;
  if (scales === undefined) return storedBytes(tensor);
  const packed = mxfp4Bytes(plainBytes(tensor), plainBytes(scales));
  if (packed !== undefined && tensor.tensor.type === "U8" && scales.tensor.type === "U8") return packed;
  throw new WorkbenchError(
    "UNSUPPORTED_TENSOR_TYPE",
    `[${tensor.file.source.name}] tensor ${quote(name)}: got blocks and scales that do not fit, expected MXFP4`,
    { hint: "Download the model's files again, from one place.", details: { tensor: name } },
  );
}

const plainBytes = ({ file: { source }, tensor }: StoredTensor): StoredBytes => ({
  shape: tensor.shape,
  read: (offset, length, signal) => source.read(tensor.offset + offset, length, signal),
});

function put(config: HfConfig, made: Map<string, TensorBytes>, name: string, tensor: TensorBytes): void {
  if (made.has(name)) throw twice(config, name);
  made.set(name, tensor);
}

const twice = (config: HfConfig, name: string): WorkbenchError =>
  new WorkbenchError("INPUT_MALFORMED", `[${config.name}] two tensors of the model are ${quote(name)}`, {
    hint: "The folder holds the weights twice, under two names: keep one of them.",
  });

/** What numbers of config.json make of a tensor has whole sizes, and its bytes are theirs. */
function whole(config: HfConfig, name: string, tensor: TensorBytes): TensorBytes {
  const { type, dims, byteLength } = tensor;
  const isWhole = dims.every((size) => Number.isSafeInteger(size) && size > 0);
  if (isWhole && packedBytes(type, elementsOf(dims)) === byteLength) return tensor;
  throw new WorkbenchError(
    "INPUT_MALFORMED",
    `[${config.name}] the tensor ${quote(name)}: got sizes that become ${dims.join(" × ")}, expected whole ones`,
    { hint: "config.json and the weights belong to different models.", details: { tensor: name } },
  );
}

/** As ggml's own files have them: what is before the layers, the layers, what is behind. */
function inOrder(tensors: readonly NamedTensor[]): readonly NamedTensor[] {
  const place = ([name]: NamedTensor): number => {
    const layer = /^blk\.(\d+)\./u.exec(name)?.[1];
    return layer !== undefined ? Number(layer) + 1 : name.startsWith("output") ? Infinity : 0;
  };
  return tensors.toSorted((a, b) => {
    const [x, y] = [place(a), place(b)];
    return x === y ? 0 : x < y ? -1 : 1;
  });
}

interface Rule {
  readonly pattern: RegExp;
  readonly targets: readonly Target[];
}

const asTargets = (value: HfFamily["tensors"][string]): readonly Target[] =>
  typeof value === "string" ? [{ name: value }] : "name" in value ? [value] : value;

function compiled({ tensors }: HfFamily): readonly Rule[] {
  return Object.entries(tensors).map(([name, value]) => {
    const targets = asTargets(value);
    const isWhole = targets.length === 0 || targets.some(({ end }) => end !== undefined);
    const pattern = name
      .replaceAll(".", "\\.")
      .replace("{i}", "(?<layer>\\d{1,4})")
      .replace("{x}", "(?<expert>\\d{1,4})");
    return { pattern: new RegExp(`^${pattern}${isWhole ? "" : "(?<end>\\.(?:weight|bias))"}$`, "u"), targets };
  });
}

/** Files of one model may begin the names of its tensors with its kind, those of another not. */
export const withoutPrefix = (name: string): string =>
  name.slice((PREFIXES.find((start) => name.startsWith(start)) ?? "").length);

/** Undefined for a name that no rule knows. */
function placesOf(rules: readonly Rule[], name: string): readonly Place[] | undefined {
  // Weights that adapters hang on keep their name in front of these words.
  const own = withoutPrefix(name).replace(/\.parametrizations\.(weight|bias)\.original$/u, ".$1");
  for (const { pattern, targets } of rules) {
    const found = pattern.exec(own);
    if (found === null) continue;
    const { layer, expert, end = "" } = found.groups ?? {};
    return targets.map((target) => ({
      target: { ...target, name: `${target.name.replace("{i}", layer ?? "")}${target.end ?? end}` },
      expert: expert === undefined ? undefined : Number(expert),
    }));
  }
  return undefined;
}

function unknownTensor(family: HfFamily, config: HfConfig, name: string): WorkbenchError {
  return new WorkbenchError(
    "UNSUPPORTED_ARCHITECTURE",
    `[${config.name}] the tensor ${quote(name)} is none that ${family.architecture} models have`,
    {
      hint: "The model differs from its family, or its weights are quantised in a way of their own: use its BF16 files.",
      details: { tensor: name },
    },
  );
}

function stacked(config: HfConfig, name: string, list: readonly TensorBytes[]): TensorBytes {
  const parts = Array.from(list, (part, i) => {
    if (part !== undefined) return part;
    throw new WorkbenchError("INPUT_MISSING_TENSOR", `[${config.name}] expert ${i} of ${quote(name)} is missing`, {
      hint: "A file of the folder is missing: download it again.",
      details: { tensor: name },
    });
  });
  const [first] = parts;
  if (first === undefined || parts.some(({ dims, type }) => dims.join() !== first.dims.join() || type !== first.type))
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${config.name}] the experts of ${quote(name)} differ in size or type`,
      {
        hint: "The files belong to different models; download them again, from one place.",
      },
    );
  return joined(parts, [...first.dims, parts.length]);
}

/** Vectors, norms and what else ggml wants so are f32. */
function finished(name: string, tensor: TensorBytes): TensorBytes {
  const isPlain = tensor.dims.length <= 1 || name.endsWith(".bias") || isExactly32(name);
  return isPlain || tensor.type.name === "f64" ? converted(tensor, F32) : tensor;
}
