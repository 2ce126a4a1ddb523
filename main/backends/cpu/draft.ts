/**
 * A plan while it is being made: values over buffers, and a list of instructions. Patterns rewrite this list; then memory
 * is planned and the writer turns it into bytes. A view is another value over the same buffer.
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { Rewind } from "../../ir/rewind.ts";
import type { TensorType } from "../../ir/type.ts";
import type { WeightPlace } from "../../ir/weightPlace.ts";
import type { KernelParams } from "./emitter.ts";
import type { ControlKernel, CpuKernel } from "./kernels.ts";

export type BufferKind =
  | { readonly kind: "temp" }
  | { readonly kind: "own" }
  | { readonly kind: "weight"; readonly place: WeightPlace }
  | { readonly kind: "constant"; readonly data: HostTensor }
  | { readonly kind: "state"; readonly name: string }
  | { readonly kind: "input"; readonly name: string };

export interface DraftValue {
  readonly id: number;
  readonly type: TensorType;
  readonly buffer: number;
}

export type DraftKernel = CpuKernel | ControlKernel;

export interface DraftInstruction {
  readonly kernel: DraftKernel;
  /** Value ids; -1 where an optional operand is missing. */
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
  readonly params: KernelParams;
  /** Graph nodes that this instruction executes. */
  readonly nodes: readonly number[];
  /** Lists of sub-graphs, until the plan is laid flat. */
  readonly bodies?: readonly DraftBody[];
}

export interface DraftBody {
  instructions: DraftInstruction[];
  /** Values that are read after the list. */
  readonly kept: number[];
}

export class PlanDraft {
  readonly values: DraftValue[] = [];
  readonly buffers: BufferKind[] = [];
  instructions: DraftInstruction[] = [];
  readonly outputs: { readonly name: string; value: number }[] = [];
  readonly states: { readonly name: string; readonly rewind: Rewind; readonly value: number; next: number }[] = [];
  readonly inputs: { readonly name: string; readonly value: number }[] = [];
  /** Of the flat list: instructions that run again and again, first and last. */
  readonly loops: { readonly from: number; readonly to: number }[] = [];
  /** Buffers that are read or written outside the list that is being looked at. */
  pinned: ReadonlySet<number> = new Set();
  /** Values by buffer. */
  readonly #members = new Map<number, number[]>();

  newBuffer(kind: BufferKind): number {
    this.buffers.push(kind);
    return this.buffers.length - 1;
  }

  newValue(type: TensorType, buffer: number = this.newBuffer({ kind: "temp" })): DraftValue {
    const value = { id: this.values.length, type, buffer };
    this.values.push(value);
    this.#membersOf(buffer).push(value.id);
    return value;
  }

  valueAt(id: number): DraftValue {
    const value = this.values[id];
    invariant(value, `plan value ${id} does not exist`);
    return value;
  }

  bufferOf(id: number): number {
    return this.valueAt(id).buffer;
  }

  kindOf(buffer: number): BufferKind {
    const kind = this.buffers[buffer];
    invariant(kind, `plan buffer ${buffer} does not exist`);
    return kind;
  }

  /** Moves a value to another buffer, with all views of it (it becomes the same memory). */
  rebase(id: number, buffer: number): void {
    const old = this.bufferOf(id);
    if (old === buffer) return;
    const moved = this.#membersOf(old);
    for (const member of moved) this.values[member] = { ...this.valueAt(member), buffer };
    this.#membersOf(buffer).push(...moved);
    this.#members.delete(old);
  }

  /** A list of its own: what `make` adds goes there. */
  collect(make: () => void): DraftBody {
    const body: DraftBody = { instructions: [], kept: [] };
    this.within(body, [], make);
    return body;
  }

  /** Works on the list of a sub-graph as if it were all there is; `shared` are values that others see. */
  within(body: DraftBody, shared: readonly number[], work: () => void): void {
    const [outer, pinned] = [this.instructions, this.pinned];
    this.instructions = body.instructions;
    this.pinned = new Set([...pinned, ...shared.filter((id) => id >= 0).map((id) => this.bufferOf(id))]);
    work();
    body.instructions = this.instructions;
    this.instructions = outer;
    this.pinned = pinned;
  }

  #membersOf(buffer: number): number[] {
    const found = this.#members.get(buffer) ?? [];
    this.#members.set(buffer, found);
    return found;
  }
}

/** Writers and readers of each buffer, by place in the list. Outputs and next states count as readers. */
export interface Uses {
  readonly writers: readonly (readonly number[])[];
  readonly readers: readonly (readonly number[])[];
  readonly kept: readonly boolean[];
}

export function usesOf(draft: PlanDraft): Uses {
  const writers: number[][] = draft.buffers.map(() => []);
  const readers: number[][] = draft.buffers.map(() => []);
  const kept = draft.buffers.map((buffer, i) => buffer.kind !== "temp" || draft.pinned.has(i));
  draft.instructions.forEach((instruction, at) => {
    for (const id of instruction.inputs) if (id >= 0) readers[draft.bufferOf(id)]?.push(at);
    for (const id of instruction.outputs) writers[draft.bufferOf(id)]?.push(at);
  });
  for (const output of draft.outputs) kept[draft.bufferOf(output.value)] = true;
  for (const state of draft.states) kept[draft.bufferOf(state.next)] = true;
  return { writers, readers, kept };
}

/** True when another state's next value is what this state's memory held before the run. */
export const passedOn = (draft: PlanDraft, buffer: number): boolean =>
  draft.states.some((state) => draft.bufferOf(state.next) === buffer && draft.bufferOf(state.value) !== buffer);
