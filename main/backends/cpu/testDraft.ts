/** For tests: a plan draft in a few words. Every value is f32 unless the type says otherwise. */
import type { TensorType } from "../../ir/type.ts";
import { tensor } from "../../ir/type.ts";
import type { BufferKind, DraftKernel } from "./draft.ts";
import { PlanDraft } from "./draft.ts";
import type { KernelParams } from "./emitter.ts";

export type Shaped = readonly (number | string)[] | TensorType;

const typeOf = (shape: Shaped): TensorType => ("dtype" in shape ? shape : tensor("f32", shape));

export class TestDraft {
  readonly draft = new PlanDraft();
  #files = 0;
  #nodes = 0;

  #leaf(kind: BufferKind, shape: Shaped): number {
    return this.draft.newValue(typeOf(shape), this.draft.newBuffer(kind)).id;
  }
  input(name: string, shape: Shaped): number {
    const value = this.#leaf({ kind: "input", name }, shape);
    this.draft.inputs.push({ name, value });
    return value;
  }
  weight(shape: Shaped): number {
    return this.#leaf({ kind: "weight", place: { file: 0, offset: 64 * this.#files++, bytes: 64 } }, shape);
  }
  /** Its next value is the old one until `next` says otherwise. */
  state(name: string, shape: Shaped): number {
    const value = this.#leaf({ kind: "state", name }, shape);
    this.draft.states.push({ name, rewind: "positions", value, next: value });
    return value;
  }
  next(name: string, value: number): void {
    const state = this.draft.states.find((entry) => entry.name === name);
    if (state) state.next = value;
  }
  /** One instruction of one node; gives its results. */
  emit(
    kernel: DraftKernel,
    inputs: readonly number[],
    outputs: readonly Shaped[],
    params: KernelParams = {},
  ): readonly number[] {
    const ids = outputs.map((shape) => this.draft.newValue(typeOf(shape)).id);
    this.draft.instructions.push({ kernel, inputs, outputs: ids, params, nodes: [this.#nodes++] });
    return ids;
  }
  one(kernel: DraftKernel, inputs: readonly number[], output: Shaped, params: KernelParams = {}): number {
    return this.emit(kernel, inputs, [output], params)[0] ?? -1;
  }
  view(value: number, shape: Shaped): number {
    return this.draft.newValue(typeOf(shape), this.draft.bufferOf(value)).id;
  }
  output(name: string, value: number): void {
    this.draft.outputs.push({ name, value });
  }
  get kernels(): readonly DraftKernel[] {
    return this.draft.instructions.map(({ kernel }) => kernel);
  }
}
