/**
 * The tensors of a GGUF from those of safetensors files: names by the family's table, and what has
 * to change on the way. Matrices keep their type, vectors and what ggml wants exact become f32.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { NamedTensor } from "../gguf/madeGguf.ts";
import { quote } from "../gguf/header.ts";
import { ggmlTypeByName } from "../gguf/types.ts";
import type { SafetensorsFile, SafeTensor } from "../safetensors/header.ts";
import type { TensorBytes } from "../tensorBytes.ts";
import { F32, converted, joined, mapped, rowsFrom, transposed, withDims } from "../tensorBytes.ts";
import type { Change, HfFamily, Target } from "./families.ts";
import { LEFT_OUT, PREFIXES } from "./families.ts";
import type { HfConfig } from "./keys.ts";
import { headsOf, kvHeadsOf } from "./keys.ts";

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

/** Tensors that ggml's operations take as f32 only. */
const EXACT = /(_norm|ffn_gate_inp|ffn_gate_inp_shexp|position_embd|token_types)\.weight$/u;

export interface StoredTensor {
  readonly file: SafetensorsFile;
  readonly tensor: SafeTensor;
}

/** Bytes of a stored tensor; its sizes of 1 in front are dropped where there are more than four. */
export function storedBytes({ file: { source }, tensor }: StoredTensor): TensorBytes {
  const type = ggmlTypeByName(TYPES[tensor.type] ?? "");
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
  return {
    type,
    dims,
    byteLength: tensor.byteLength,
    read: (offset, length, signal) => source.read(tensor.offset + offset, length, signal),
  };
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
  const tied = config.json.flag("tie_word_embeddings") ?? family.isTied === true;
  const made = new Map<string, TensorBytes>();
  const experts = new Map<string, TensorBytes[]>();
  for (const [name, tensor] of stored) {
    if (LEFT_OUT.test(name)) continue;
    const places = placesOf(rules, name);
    if (places.length === 0) throw unknownTensor(family, config, name);
    for (const { target, expert } of places) {
      if (tied && target.name === "output.weight") continue;
      const bytes = finished(target.name, changed(storedBytes(tensor), target.change, config));
      if (expert === undefined) put(config, made, target.name, bytes);
      else {
        const list = experts.get(target.name) ?? [];
        list[expert] = bytes;
        experts.set(target.name, list);
      }
    }
  }
  for (const [name, list] of experts) put(config, made, name, stacked(config, name, list));
  for (const [name, tensor] of Object.entries(family.more?.(config) ?? {})) put(config, made, name, tensor);
  const embedding = made.get("token_embd.weight");
  if (family.ownOutput === true && embedding !== undefined && !made.has("output.weight"))
    made.set("output.weight", embedding);
  return inOrder([...made]);
}

function put(config: HfConfig, made: Map<string, TensorBytes>, name: string, tensor: TensorBytes): void {
  if (made.has(name))
    throw new WorkbenchError("INPUT_MALFORMED", `[${config.name}] two tensors of the model are ${quote(name)}`, {
      hint: "The folder holds the weights twice, under two names: keep one of them.",
    });
  made.set(name, tensor);
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
  return Object.entries(tensors).map(([name, value]) => ({
    // Stacked experts have no ".weight" of their own in some files.
    pattern: new RegExp(
      `^${name.replaceAll(".", "\\.").replace("{i}", "(?<layer>\\d{1,4})").replace("{x}", "(?<expert>\\d{1,4})")}\\.(?<end>weight|bias)$`,
      "u",
    ),
    targets: asTargets(value),
  }));
}

function placesOf(rules: readonly Rule[], name: string): readonly Place[] {
  const prefix = PREFIXES.find((start) => name.startsWith(start)) ?? "";
  const own = name.slice(prefix.length);
  for (const { pattern, targets } of rules) {
    const found = pattern.exec(own);
    if (found === null) continue;
    const { layer, expert, end = "" } = found.groups ?? {};
    return targets.map((target) => ({
      target: { ...target, name: `${target.name.replace("{i}", layer ?? "")}.${end}` },
      expert: expert === undefined ? undefined : Number(expert),
    }));
  }
  return [];
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
  const isPlain = tensor.dims.length <= 1 || name.endsWith(".bias") || EXACT.test(name);
  return isPlain || tensor.type.name === "f64" ? converted(tensor, F32) : tensor;
}

function changed(tensor: TensorBytes, change: Change | undefined, config: HfConfig): TensorBytes {
  switch (change) {
    case undefined:
      return tensor;
    case "q rope":
      return interleaved(tensor, headsOf(config), config);
    case "k rope":
      return interleaved(tensor, kvHeadsOf(config), config);
    case "plus one":
      return mapped(tensor, (value) => Math.fround(value + 1));
    case "transpose":
      return tensor.dims.length === 2 ? transposed(tensor) : tensor;
    case "vector":
      return withDims(
        tensor,
        tensor.dims.filter((dim, i) => i === 0 || dim !== 1),
      );
    case "first half":
      return half(tensor, 0);
    case "second half":
      return half(tensor, 1);
  }
}

/** Row 2j + s of a head was row s · size/2 + j: rope turns neighbours instead of halves. */
function interleaved(tensor: TensorBytes, heads: number, config: HfConfig): TensorBytes {
  const isBias = tensor.dims.length === 1;
  const rows = tensor.dims.at(-1) ?? 0;
  const size = rows / heads;
  if (!Number.isInteger(size) || size % 2 !== 0)
    throw new WorkbenchError(
      "INPUT_MALFORMED",
      `[${config.name}] a matrix of attention has ${rows} rows: expected an even number for each of ${heads} heads`,
      { hint: "config.json and the weights belong to different models." },
    );
  const from = (row: number): number => {
    const inside = row % size;
    return row - inside + (inside % 2) * (size / 2) + (inside >> 1);
  };
  // The numbers of a bias are its rows.
  return isBias ? withDims(rowsFrom(withDims(tensor, [1, rows]), from), [rows]) : rowsFrom(tensor, from);
}

/** Half of the rows of each matrix. */
function half(tensor: TensorBytes, which: 0 | 1): TensorBytes {
  const [columns = 1, rows = 1, ...rest] = tensor.dims;
  const count = rows / 2;
  return rowsFrom(tensor, (row) => Math.floor(row / count) * rows + which * count + (row % count), [
    columns,
    count,
    ...rest,
  ]);
}
