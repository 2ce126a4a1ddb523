/**
 * Places for temporaries in one arena: a buffer holds its place from the instruction that writes it first to the one that
 * reads it last, and freed places are given again (best fit). The result of an element-wise kernel takes the place of an operand
 * that it reads last. Sizes are those of the largest bindings.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Bindings, Dim } from "../../ir/dim.ts";
import { bindDim, dimSymbols } from "../../ir/dim.ts";
import { byteLength, formatType } from "../../ir/type.ts";
import type { PlanDraft } from "./draft.ts";
import { isElementwise } from "./kernelFacts.ts";

export interface MemoryPlan {
  readonly arenaBytes: number;
  /** By buffer; -1 for buffers that are not temporaries. */
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
  /** What all temporaries would take side by side: how much sharing saves. */
  readonly unsharedBytes: number;
}

const ALIGNMENT = 64;
const align = (bytes: number): number => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

export function boundSize(dim: Dim, limits: Bindings, source: string): number {
  const size = bindDim(dim, limits);
  if (typeof size === "number") return size;
  throw new WorkbenchError(
    "IR_SHAPE",
    `[${source}] no limit for ${dimSymbols(size).join(", ")}: memory cannot be planned`,
    {
      hint: "Give the symbol a largest size (limitSymbol, or the compile option `limits`).",
    },
  );
}

interface Gap {
  offset: number;
  bytes: number;
}

class Arena {
  #gaps: Gap[] = [];
  #end = 0;

  get bytes(): number {
    return this.#end;
  }

  take(bytes: number): number {
    let best: Gap | undefined;
    for (const gap of this.#gaps) if (gap.bytes >= bytes && (best === undefined || gap.bytes < best.bytes)) best = gap;
    if (best) {
      const { offset } = best;
      best.offset += bytes;
      best.bytes -= bytes;
      if (best.bytes === 0) this.#gaps.splice(this.#gaps.indexOf(best), 1);
      return offset;
    }
    // A gap at the end grows instead of staying behind.
    const last = this.#gaps.at(-1);
    if (last && last.offset + last.bytes === this.#end) {
      this.#gaps.pop();
      this.#end = last.offset + bytes;
      return last.offset;
    }
    const offset = this.#end;
    this.#end += bytes;
    return offset;
  }

  give(offset: number, bytes: number): void {
    let at = this.#gaps.findIndex((gap) => gap.offset > offset);
    if (at < 0) at = this.#gaps.length;
    this.#gaps.splice(at, 0, { offset, bytes });
    const merge = (i: number): void => {
      const [a, b] = [this.#gaps[i], this.#gaps[i + 1]];
      if (!a || !b || a.offset + a.bytes !== b.offset) return;
      a.bytes += b.bytes;
      this.#gaps.splice(i + 1, 1);
    };
    merge(at);
    if (at > 0) merge(at - 1);
  }
}

export function planMemory(draft: PlanDraft, limits: Bindings): MemoryPlan {
  const sizes = draft.buffers.map(() => 0);
  for (const value of draft.values)
    if (draft.kindOf(value.buffer).kind === "temp")
      sizes[value.buffer] = Math.max(
        sizes[value.buffer] ?? 0,
        align(boundSize(byteLength(value.type), limits, "cpu memory plan")),
      );

  const first = draft.buffers.map(() => -1);
  const last = draft.buffers.map(() => -1);
  draft.instructions.forEach((instruction, at) => {
    for (const id of [...instruction.inputs, ...instruction.outputs]) {
      if (id < 0) continue;
      const buffer = draft.bufferOf(id);
      if ((first[buffer] ?? -1) < 0) first[buffer] = at;
      last[buffer] = at;
    }
  });

  // What a turn of a loop reads from before the loop is there for the next turn, too. Inner loops first.
  for (const { from, to } of [...draft.loops].sort((a, b) => a.to - a.from - (b.to - b.from)))
    last.forEach((at, buffer) => {
      if ((first[buffer] ?? -1) < from && at >= from && at < to) last[buffer] = to;
    });

  const starts: number[][] = draft.instructions.map(() => []);
  const ends: number[][] = draft.instructions.map(() => []);
  draft.buffers.forEach((kind, buffer) => {
    if (kind.kind !== "temp" || (first[buffer] ?? -1) < 0) return;
    starts[first[buffer] ?? 0]?.push(buffer);
    ends[last[buffer] ?? 0]?.push(buffer);
  });

  /** The temporary whose place the first result of an instruction takes. */
  const placeFor = ({ kernel, inputs, outputs }: PlanDraft["instructions"][number], at: number): number => {
    const [to = -1] = outputs;
    if (!isElementwise(kernel) || to < 0 || !(starts[at] ?? []).includes(draft.bufferOf(to))) return -1;
    const type = formatType(draft.valueAt(to).type);
    const isLike = (id: number): boolean => id >= 0 && formatType(draft.valueAt(id).type) === type;
    const all = (buffer: number): boolean =>
      inputs.every((id) => id < 0 || draft.bufferOf(id) !== buffer || isLike(id));
    const found = inputs.find((id) => {
      if (!isLike(id)) return false;
      const buffer = draft.bufferOf(id);
      return (ends[at] ?? []).includes(buffer) && sizes[buffer] === sizes[draft.bufferOf(to)] && all(buffer);
    });
    return found === undefined ? -1 : draft.bufferOf(found);
  };

  const arena = new Arena();
  const offsets = draft.buffers.map(() => -1);
  let unsharedBytes = 0;
  draft.instructions.forEach((instruction, at) => {
    const given = placeFor(instruction, at);
    const taker = given < 0 ? -1 : draft.bufferOf(instruction.outputs[0] ?? -1);
    for (const buffer of starts[at] ?? []) {
      offsets[buffer] = buffer === taker ? (offsets[given] ?? 0) : arena.take(sizes[buffer] ?? 0);
      unsharedBytes += sizes[buffer] ?? 0;
    }
    for (const buffer of ends[at] ?? []) if (buffer !== given) arena.give(offsets[buffer] ?? 0, sizes[buffer] ?? 0);
  });
  return { arenaBytes: arena.bytes, offsets, sizes, unsharedBytes };
}
