/**
 * A model as other GGUF files: with another element type, in one file or in several. What goes where
 * is planned from the header; then the parts are written one behind the other, and all become
 * visible together.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { ByteSink } from "../byteSink.ts";
import type { TargetType, TensorBytes } from "../tensorBytes.ts";
import { F32, converted, isExactly32, typeNamed } from "../tensorBytes.ts";
import { requireNoAdapters } from "./adapters.ts";
import { numberEntry, withEntries } from "./encode.ts";
import type { GgufFile, GgufTensor } from "./file.ts";
import { requireRead } from "./file.ts";
import { alignUp } from "./header.ts";
import type { GgmlType } from "./types.ts";
import { fileTypeNumber } from "./types.ts";
import type { MetadataEntry } from "./values.ts";
import type { GgufContents, TensorToWrite } from "./write.ts";
import { bytesOf, encodeHeader, tensorToWrite, writeGguf } from "./write.ts";

export interface ConvertChoice {
  /** The type of matrices; what they have without it. */
  readonly type?: TargetType | undefined;
  /** Most bytes of tensors in a part. */
  readonly splitBytes?: number | undefined;
  /** Most tensors of a part. */
  readonly splitTensors?: number | undefined;
}

export interface ConvertPart {
  /** "-00001-of-00003", or nothing for the only one. */
  readonly suffix: string;
  readonly contents: GgufContents<TensorToWrite>;
  readonly bytes: number;
}

export interface ConvertPlan {
  readonly parts: readonly ConvertPart[];
  readonly bytes: number;
  readonly tensors: readonly {
    readonly name: string;
    readonly from: GgmlType;
    readonly to: GgmlType;
    readonly bytes: number;
  }[];
}

const MOST_PARTS = 1000;
const FLOATS = ["f32", "f16", "bf16"];

function targetOf(tensor: GgufTensor, type: TargetType | undefined): GgmlType {
  const { dims, name } = tensor;
  const isNumber = tensor.type.element !== undefined && !/^([iu]\d+|f64)$/u.test(tensor.type.name);
  if (type === undefined || !isNumber) return tensor.type;
  // Vectors keep what they are unless it is half of a float.
  if (dims.length < 2 || !name.endsWith(".weight") || isExactly32(name))
    return FLOATS.includes(tensor.type.name) ? F32 : tensor.type;
  const target = typeNamed(type);
  return (dims[0] ?? 1) % target.blockSize === 0 ? target : typeNamed("f16");
}

/** What a tensor is before it is converted; itself where nothing changes it. */
export type ChangeTensor = (tensor: GgufTensor, bytes: TensorBytes) => TensorBytes;

export function planConvert(
  file: GgufFile,
  choice: ConvertChoice,
  change: ChangeTensor = (_, bytes) => bytes,
): ConvertPlan {
  requireRead(file, "convert");
  requireNoAdapters(file, "convert");
  const planned = file.tensors.map((tensor) => {
    const target = targetOf(tensor, choice.type);
    const bytes = converted(change(tensor, bytesOf(file, tensor)), target);
    return { tensor, bytes, toWrite: tensorToWrite(tensor.name, bytes) };
  });
  const groups = groupsOf(planned, choice, file.alignment);
  if (groups.length > MOST_PARTS)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[convert] parts: got ${groups.length}, expected at most ${MOST_PARTS}`,
      {
        hint: "Allow more bytes or tensors in a part.",
      },
    );
  const own = entriesOf(file, choice);
  const parts = groups.map((group, i): ConvertPart => {
    const split = groups.length === 1 ? [] : splitEntries(i, groups.length, planned.length);
    // The parts lie as the first one, so all say how.
    const aligned = own.filter(({ key }) => i === 0 || key === "general.alignment");
    const contents = { entries: [...aligned, ...split], tensors: group.map((item) => item.toWrite) };
    const suffix = groups.length === 1 ? "" : `-${five(i + 1)}-of-${five(groups.length)}`;
    return { suffix, contents, bytes: encodeHeader(contents).total };
  });
  return {
    parts,
    bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
    tensors: planned.map(({ tensor, bytes }) => ({
      ...{ name: tensor.name, from: tensor.type, to: bytes.type, bytes: bytes.byteLength },
    })),
  };
}

const five = (n: number): string => String(n).padStart(5, "0");

interface Planned {
  readonly bytes: TensorBytes;
  readonly toWrite: TensorToWrite;
}

/** Tensors of each part, in order. A tensor that is larger than a part is one alone. */
function groupsOf<T extends Planned>(
  planned: readonly T[],
  choice: ConvertChoice,
  alignment: number,
): readonly (readonly T[])[] {
  const groups: T[][] = [[]];
  let size = 0;
  for (const item of planned) {
    const last = groups.at(-1) ?? [];
    const bytes = alignUp(item.bytes.byteLength, alignment);
    const isFull =
      last.length > 0 &&
      (size + bytes > (choice.splitBytes ?? Infinity) || last.length >= (choice.splitTensors ?? Infinity));
    if (isFull) groups.push([item]);
    else last.push(item);
    size = isFull ? bytes : size + bytes;
  }
  return groups;
}

/** The file's keys: those of its parts go, the type of its matrices changes. */
function entriesOf(file: GgufFile, { type }: ConvertChoice): readonly MetadataEntry[] {
  const kept = file.metadata.entries.filter(({ key }) => !key.startsWith("split."));
  if (type === undefined) return kept;
  const number = fileTypeNumber(type.toUpperCase());
  return withEntries(kept, {
    "general.file_type": number === undefined ? undefined : numberEntry("general.file_type", "u32", number),
    ...(type === "q8_0" && { "general.quantization_version": numberEntry("general.quantization_version", "u32", 2) }),
  });
}

const splitEntries = (index: number, count: number, tensors: number): readonly MetadataEntry[] => [
  numberEntry("split.no", "u16", index),
  numberEntry("split.count", "u16", count),
  numberEntry("split.tensors.count", "i32", tensors),
];

export interface ConvertProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
  /** From 1. */
  readonly part: number;
}

/** Writes the parts; `sinks` in their order. None becomes visible before all are written. */
export async function writeConverted(
  plan: ConvertPlan,
  sinks: readonly ByteSink[],
  {
    signal,
    onProgress,
  }: { readonly signal?: AbortSignal; readonly onProgress?: (progress: ConvertProgress) => void } = {},
): Promise<void> {
  let before = 0;
  try {
    for (const [i, { contents, bytes }] of plan.parts.entries()) {
      const sink = sinks[i];
      if (sink === undefined) throw new WorkbenchError("BUG_INVARIANT", `[convert] no place for part ${i + 1}`);
      const done = before;
      // Finished below, with the others.
      await writeGguf({ ...sink, finish: async () => undefined }, contents, {
        ...(signal === undefined ? {} : { signal }),
        onProgress: (written) => onProgress?.({ doneBytes: done + written, totalBytes: plan.bytes, part: i + 1 }),
      });
      before += bytes;
    }
    for (const sink of sinks) await sink.finish();
  } catch (error) {
    await Promise.allSettled(sinks.map((sink) => sink.abandon()));
    throw error;
  }
}
