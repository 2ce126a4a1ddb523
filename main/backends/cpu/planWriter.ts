/**
 * The bytes of a plan, as native/src/cpu/plan.cpp reads them: names, symbols and sizes, then states, inputs, outputs,
 * constants, tensors and instructions.
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Bindings, Dim } from "../../ir/dim.ts";
import { isPacked } from "../../ir/dtype.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import { ABSENT, ByteWriter, checkAxes, PlanTables, typeCode } from "../../ir/planBytes.ts";
import { positionAxis } from "../../ir/positionAxis.ts";
import { byteLength } from "../../ir/type.ts";
import type { DraftValue, PlanDraft } from "./draft.ts";
import { inPlace } from "./kernelFacts.ts";
import type { MemoryPlan } from "./memoryPlan.ts";

const MAGIC = 0x504c5852;
const VERSION = 2;
/** kMaxRank of native/src/cpu/tensor.h. */
const MOST_AXES = 8;
const STORAGE = { temp: 0, weight: 1, constant: 2, state: 3, input: 4, own: 5 } as const;

export function writePlan(draft: PlanDraft, memory: MemoryPlan, limits: Bindings): Uint8Array {
  const tables = new PlanTables(limits);
  const name = (text: string): number => tables.name(text);
  const size = (dim: Dim): number => tables.size(dim);

  // Only values that something names become tensors.
  const named = new Set<number>();
  for (const instruction of draft.instructions)
    for (const id of [...instruction.inputs, ...instruction.outputs]) if (id >= 0) named.add(id);
  for (const entry of [...draft.inputs, ...draft.outputs, ...draft.states]) named.add(entry.value);
  const tensorOf = new Map<number, number>([...named].sort((a, b) => a - b).map((id, i) => [id, i]));
  const tensor = (id: number): number => {
    const index = tensorOf.get(id);
    invariant(index !== undefined, `plan value ${id} has no tensor`);
    return index;
  };

  const constants = layConstants(draft);
  const ownIndex = new Map<number, number>();
  draft.buffers.forEach((kind, buffer) => {
    if (kind.kind === "own") ownIndex.set(buffer, ownIndex.size);
  });

  const tensors = new ByteWriter();
  tensors.u32(tensorOf.size);
  for (const id of tensorOf.keys())
    writeTensor(tensors, draft, draft.valueAt(id), memory, size, constants.offsets, ownIndex);

  const instructions = new ByteWriter();
  instructions.u32(draft.instructions.length);
  for (const instruction of draft.instructions) {
    instructions.u32(name(instruction.kernel));
    for (const list of [instruction.inputs, instruction.outputs]) {
      instructions.u32(list.length);
      for (const id of list) instructions.u32(id < 0 ? ABSENT : tensor(id));
    }
    const params = Object.entries(instruction.params);
    instructions.u32(params.length);
    for (const [key, value] of params) {
      instructions.u32(name(key));
      const values: readonly (Dim | boolean)[] = Array.isArray(value)
        ? (value as readonly Dim[])
        : [value as Dim | boolean];
      instructions.u32(values.length);
      for (const item of values) {
        instructions.f64(typeof item === "string" ? 0 : Number(item));
        instructions.u32(typeof item === "string" ? size(item) : ABSENT);
      }
    }
  }

  const fields = new ByteWriter();
  fields.u32(draft.states.length);
  for (const state of draft.states) {
    fields.u32(name(state.name));
    fields.u32(tensor(state.value));
    const { type, buffer } = draft.valueAt(state.value);
    const isRing = state.rewind === "ring";
    const counts = isRing || state.rewind === "positions";
    fields.u32((counts ? positionAxis(type, () => isAppendedTo(draft, buffer)) : undefined) ?? ABSENT);
    fields.u32(isRing ? 1 : 0);
  }
  for (const list of [draft.inputs, draft.outputs]) {
    fields.u32(list.length);
    for (const entry of list) {
      fields.u32(name(entry.name));
      fields.u32(tensor(entry.value));
    }
  }
  fields.u64(constants.bytes.length);
  fields.blob(constants.bytes);

  const out = new ByteWriter();
  out.u32(MAGIC);
  out.u32(VERSION);
  out.u64(memory.arenaBytes);
  out.u32(ownIndex.size);
  tables.write(out);
  for (const part of [fields, tensors, instructions]) out.blob(part.finish());
  return out.finish();
}

function isAppendedTo(draft: PlanDraft, buffer: number): boolean {
  return draft.instructions.some((instruction) =>
    inPlace(instruction.kernel).some((pair) => {
      const cache = instruction.inputs[pair.input];
      return cache !== undefined && draft.bufferOf(cache) === buffer;
    }),
  );
}

function writeTensor(
  out: ByteWriter,
  draft: PlanDraft,
  value: DraftValue,
  memory: MemoryPlan,
  size: (dim: Dim) => number,
  constants: ReadonlyMap<number, number>,
  own: ReadonlyMap<number, number>,
): void {
  const kind = draft.kindOf(value.buffer);
  out.u32(typeCode(value.type.dtype));
  checkAxes("cpu", value.type, MOST_AXES);
  out.u32(value.type.shape.length);
  for (const dim of value.type.shape) out.u32(size(dim));
  out.u32(STORAGE[kind.kind]);
  const place = (index: number, offset: number, bytes: number): void => {
    out.u32(index);
    out.u64(offset);
    out.u64(bytes);
  };
  const fixed = (): number => {
    const bytes = byteLength(value.type);
    if (typeof bytes !== "number")
      throw new WorkbenchError("IR_SHAPE", `[cpu] a weight or constant has a symbolic size: ${bytes} bytes`);
    return bytes;
  };
  switch (kind.kind) {
    case "temp":
      return place(0, Math.max(0, memory.offsets[value.buffer] ?? 0), memory.sizes[value.buffer] ?? 0);
    case "weight": {
      if (kind.place.bytes !== fixed() && isPacked(value.type.dtype))
        throw new WorkbenchError(
          "INPUT_MALFORMED",
          `[cpu] a weight has ${kind.place.bytes} bytes, expected ${fixed()}`,
        );
      return place(kind.place.file, kind.place.offset, fixed());
    }
    case "constant":
      return place(0, constants.get(value.buffer) ?? 0, fixed());
    case "state":
      return place(
        draft.states.findIndex((state) => state.name === kind.name),
        0,
        0,
      );
    case "input":
      return place(
        draft.inputs.findIndex((input) => input.name === kind.name),
        0,
        0,
      );
    case "own":
      return place(own.get(value.buffer) ?? 0, 0, 0);
  }
}

function layConstants(draft: PlanDraft): { readonly bytes: Uint8Array; readonly offsets: ReadonlyMap<number, number> } {
  const offsets = new Map<number, number>();
  const parts: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  let total = 0;
  draft.buffers.forEach((kind, buffer) => {
    if (kind.kind !== "constant") return;
    const bytes = tensorBytes(kind.data);
    offsets.set(buffer, total);
    parts.push({ at: total, bytes });
    total += Math.ceil(bytes.length / 64) * 64;
  });
  const bytes = new Uint8Array(total);
  for (const part of parts) bytes.set(part.bytes, part.at);
  return { bytes, offsets };
}
