/** A plan while it is being made: leaves, calls over numbered values, and what the host checks before each run. */
import { invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { Rewind } from "../../ir/rewind.ts";
import type { TensorType } from "../../ir/type.ts";
import type { WeightPlace } from "../../ir/weightPlace.ts";
import type { MlxAttrs, MlxValue } from "./emitter.ts";
import type { MlxFunction } from "./functions.ts";

export type Leaf =
  | { readonly kind: "input"; readonly name: string }
  | { readonly kind: "state"; readonly name: string; readonly rewind: Rewind }
  | { readonly kind: "weight"; readonly name: string; readonly place: WeightPlace }
  | { readonly kind: "constant"; readonly data: HostTensor };

export interface DraftLeaf {
  readonly value: MlxValue;
  readonly leaf: Leaf;
}

export interface DraftCall {
  readonly name: MlxFunction;
  readonly inputs: readonly number[];
  readonly outputs: readonly MlxValue[];
  readonly attrs: MlxAttrs;
  /** Graph nodes that this call executes. */
  readonly nodes: number[];
}

/** Rows that a run writes into a cache, told by an input. */
export interface DraftAppend {
  readonly past: string;
  readonly tokens: Dim;
  readonly capacity: Dim;
  /** The state that is written, if the cache is one. */
  readonly state: string | undefined;
  /** Of a ring: rows before the step that are read. Absent for a whole cache, which grows. */
  readonly reach?: number;
}

/** A sub-graph of `if` and `while`: it sees its arguments only. */
export interface DraftBody {
  readonly arguments: readonly MlxValue[];
  readonly calls: readonly DraftCall[];
  readonly results: readonly MlxValue[];
}

export class MlxDraft {
  readonly leaves: DraftLeaf[] = [];
  calls: DraftCall[] = [];
  /** Sub-graphs; body i of a call's attributes is bodies[i - 1], because 0 is the graph itself. */
  readonly bodies: DraftBody[] = [];
  readonly appends: DraftAppend[] = [];
  /** Inputs whose whole numbers must be below a size. */
  readonly limits = new Map<string, number>();
  readonly outputs: { readonly name: string; readonly value: MlxValue }[] = [];
  readonly states: { readonly name: string; readonly value: MlxValue; readonly next: MlxValue }[] = [];
  #known = new Map<string, DraftCall>();
  readonly #leafOf = new Map<number, Leaf>();
  #values = 0;

  addLeaf(type: TensorType, leaf: Leaf): MlxValue {
    const value = { id: this.#values++, type };
    this.leaves.push({ value, leaf });
    this.#leafOf.set(value.id, leaf);
    return value;
  }

  /** Makes a sub-graph over arguments of these types; answers its number for the attributes of `if` and `while`. */
  addBody(
    types: readonly TensorType[],
    make: (
      call: (
        name: MlxFunction,
        inputs: readonly MlxValue[],
        outputs: readonly TensorType[],
        attrs?: MlxAttrs,
      ) => readonly MlxValue[],
      values: readonly MlxValue[],
    ) => readonly MlxValue[],
  ): number {
    const values = types.map((type) => ({ id: this.#values++, type }));
    const calls: DraftCall[] = [];
    const results = make((name, inputs, outputs, attrs = {}) => {
      const made = outputs.map((type) => ({ id: this.#values++, type }));
      calls.push({ name, inputs: inputs.map((input) => input.id), outputs: made, attrs, nodes: [] });
      return made;
    }, values);
    this.bodies.push({ arguments: values, calls, results });
    return this.bodies.length;
  }

  /** As `addBody`; what `make` adds with `addCall` goes into the sub-graph. */
  inBody(types: readonly TensorType[], make: (values: readonly MlxValue[]) => readonly MlxValue[]): number {
    const values = types.map((type) => ({ id: this.#values++, type }));
    const [calls, known] = [this.calls, this.#known];
    this.calls = [];
    this.#known = new Map();
    const results = make(values);
    this.bodies.push({ arguments: values, calls: this.calls, results });
    this.calls = calls;
    this.#known = known;
    return this.bodies.length;
  }

  leafOf(value: MlxValue): Leaf | undefined {
    return this.#leafOf.get(value.id);
  }

  addCall(
    node: number,
    name: MlxFunction,
    inputs: readonly MlxValue[],
    outputs: readonly TensorType[],
    attrs: MlxAttrs,
  ): readonly MlxValue[] {
    invariant(outputs.length > 0, `[mlx] ${name} has no result`);
    const ids = inputs.map((input) => input.id);
    const key = JSON.stringify([name, ids, outputs, attrs]);
    const known = this.#known.get(key);
    if (known !== undefined) {
      if (!known.nodes.includes(node)) known.nodes.push(node);
      return known.outputs;
    }
    const made = outputs.map((type) => ({ id: this.#values++, type }));
    const call = { name, inputs: ids, outputs: made, attrs, nodes: [node] };
    this.calls.push(call);
    this.#known.set(key, call);
    return made;
  }
}
