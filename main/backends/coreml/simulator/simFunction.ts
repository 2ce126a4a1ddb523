/** One function of a program, run operator by operator: branches, loops, states, and each value forgotten after its last use. */
import { throwIfCancelled } from "../../../diagnostics/errors.ts";
import type { MilBinding, MilBlock, MilFunction, MilOperation, MilTensorType, MilType } from "../mil/types.ts";
import { elementCount, nestedOperations } from "../mil/types.ts";
import type { PackageFunction, PackageState } from "../package/packageRunner.ts";
import type { Constants } from "./constants.ts";
import { operatorBytes, simulatedBytes } from "./memory.ts";
import { runKernel } from "./kernels.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { allocate, packageTensor } from "../package/packageTensor.ts";
import { simError } from "./tensor.ts";

/** Contents of Core ML states, by name. Belongs to one conversation; shared by the functions of a model. */
export class SimState implements PackageState {
  readonly tensors = new Map<string, PackageTensor>();

  copy(): SimState {
    const out = new SimState();
    for (const [name, t] of this.tensors) out.tensors.set(name, { ...t, data: t.data.slice() });
    return out;
  }

  read(name: string): PackageTensor | undefined {
    return this.tensors.get(name);
  }

  write(name: string, tensor: PackageTensor): void {
    this.tensors.set(name, tensor);
  }

  dispose(): void {
    this.tensors.clear();
  }
}

interface PredictOptions {
  readonly state?: SimState;
  readonly signal?: AbortSignal;
  /** Time spent per operator of the function, by index. */
  readonly onOperation?: (index: number, milliseconds: number) => void;
}

export class SimFunction implements PackageFunction {
  readonly mil: MilFunction;
  readonly #constants: Constants;
  /** Operators that make constants, by the name they make: run when first needed, kept for all functions of the model. */
  readonly #makers = new Map<string, MilOperation>();
  /** Index of the last operator that reads a value. */
  readonly #lastUse = new Map<string, number>();

  constructor(mil: MilFunction, constants: Constants) {
    this.mil = mil;
    this.#constants = constants;
    mil.operations.forEach((op, i) => {
      for (const one of [op, ...nestedOperations(op)]) {
        const constant = one.type === "const" || one.type.startsWith("constexpr_");
        if (constant && one.outputs[0] !== undefined) this.#makers.set(one.outputs[0].name, one);
        for (const [, bindings] of one.inputs)
          for (const b of bindings) if (b.kind === "name") this.#lastUse.set(b.name, i);
        for (const block of one.blocks ?? []) for (const output of block.outputs) this.#lastUse.set(output, i);
      }
    });
    for (const output of mil.outputs) this.#lastUse.set(output, mil.operations.length);
  }

  async predict(
    inputs: Readonly<Record<string, PackageTensor>>,
    options: PredictOptions = {},
  ): Promise<Readonly<Record<string, PackageTensor>>> {
    const state = options.state ?? new SimState();
    const values = this.#bind(inputs, state);
    const smallConstants = new Map<string, PackageTensor>();
    for (const [i, op] of this.mil.operations.entries()) {
      if (op.type === "const" || op.type.startsWith("constexpr_")) continue;
      throwIfCancelled(options.signal);
      const started = options.onOperation === undefined ? 0 : performance.now();
      await this.#step(op, values, { small: smallConstants, state, signal: options.signal });
      for (const [, bindings] of op.inputs)
        for (const b of bindings) if (b.kind === "name" && this.#lastUse.get(b.name) === i) values.delete(b.name);
      options.onOperation?.(i, performance.now() - started);
    }
    return Object.fromEntries(
      this.mil.outputs.map((name) => [name, values.get(name) ?? simError(name, "the output was not made")]),
    );
  }

  /** One operator; those with blocks run theirs. */
  async #step(op: MilOperation, values: Map<string, PackageTensor>, run: Running): Promise<void> {
    const args = new Map<string, readonly PackageTensor[]>();
    for (const [name, bindings] of op.inputs) {
      const given: PackageTensor[] = [];
      for (const b of bindings) given.push(await this.#value(b, values, run.small));
      args.set(name, given);
    }
    if (op.blocks === undefined) this.#run(op, args, values, run.state);
    else keep(op, await this.#nested(op, op.blocks, args, values, run), values);
  }

  async #nested(
    op: MilOperation,
    blocks: readonly MilBlock[],
    args: ReadonlyMap<string, readonly PackageTensor[]>,
    values: ReadonlyMap<string, PackageTensor>,
    run: Running,
  ): Promise<readonly PackageTensor[]> {
    const [first, second] = blocks;
    if (first === undefined || second === undefined) return simError(op.type, "a block is missing");
    if (op.type === "cond") {
      const taken = flagOf(op, args.get("pred")) ? first : second;
      return this.#block(taken, [], values, run);
    }
    let carried = args.get("loop_vars") ?? [];
    for (let turn = 1; flagOf(op, await this.#block(first, carried, values, run)); turn++) {
      carried = await this.#block(second, carried, values, run);
      if (turn % TURNS_A_SLICE !== 0) continue;
      // A loop may turn for ever. Where no operator pauses, this does, so that a cancel arrives.
      await new Promise<void>((resolve) => setTimeout(resolve, 0));
      throwIfCancelled(run.signal);
    }
    return carried;
  }

  async #block(
    block: MilBlock,
    inputs: readonly PackageTensor[],
    outer: ReadonlyMap<string, PackageTensor>,
    run: Running,
  ): Promise<readonly PackageTensor[]> {
    const values = new Map(outer);
    block.inputs.forEach(({ name }, i) => {
      values.set(name, inputs[i] ?? simError(name, "the block input is missing"));
    });
    for (const op of block.operations) {
      if (op.type === "const" || op.type.startsWith("constexpr_")) continue;
      throwIfCancelled(run.signal);
      await this.#step(op, values, run);
    }
    const made: PackageTensor[] = [];
    for (const name of block.outputs) made.push(await this.#value({ kind: "name", name }, values, run.small));
    return made;
  }

  #bind(inputs: Readonly<Record<string, PackageTensor>>, state: SimState): Map<string, PackageTensor> {
    const values = new Map<string, PackageTensor>();
    for (const { name, type } of this.mil.inputs) {
      if (type.kind === "state") {
        if (!state.tensors.has(name)) {
          this.#constants.memory.need(simulatedBytes(type), `state ${name}`, () => this.#held([], state));
          state.tensors.set(name, {
            dtype: type.dtype,
            shape: type.shape,
            data: allocate(type.dtype, elementCount(type.shape)),
          });
        }
        continue;
      }
      const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      if (given === undefined) return simError(this.mil.name, `input ${name} is missing`);
      if (given.dtype !== type.dtype || !fits(given.shape, type))
        simError(
          this.mil.name,
          `input ${name} is ${given.dtype}[${given.shape.join()}], expected ${type.dtype}[${type.shape.join()}]`,
        );
      values.set(name, packageTensor(given.dtype, given.shape, given.data.slice()));
    }
    for (const name of Object.keys(inputs))
      if (!this.mil.inputs.some((i) => i.name === name)) simError(this.mil.name, `there is no input ${name}`);
    return values;
  }

  async #value(
    binding: MilBinding,
    values: ReadonlyMap<string, PackageTensor>,
    small: Map<string, PackageTensor>,
  ): Promise<PackageTensor> {
    if (binding.kind === "value") return this.#constants.load(binding.value, true);
    const known = values.get(binding.name) ?? small.get(binding.name);
    if (known !== undefined) return known;
    const op = this.#makers.get(binding.name);
    if (op === undefined) return STATE_MARK;
    const made = await this.#constant(op);
    if (op.type === "const" && op.value?.data.kind !== "blob") small.set(binding.name, made);
    return made;
  }

  async #constant(op: MilOperation): Promise<PackageTensor> {
    if (op.value !== undefined) return this.#constants.load(op.value, true);
    return this.#constants.kept(constexprKey(this.mil.name, op), async () => {
      const args = new Map<string, readonly PackageTensor[]>();
      for (const [name, bindings] of op.inputs) {
        const given: PackageTensor[] = [];
        for (const b of bindings) {
          if (b.kind === "value") given.push(await this.#constants.load(b.value, false));
          else
            given.push(
              await this.#constant(this.#makers.get(b.name) ?? simError(op.type, `${b.name} is not a constant`)),
            );
        }
        args.set(name, given);
      }
      const [made] = this.#kernel(op, args, () => this.#held(args.values(), undefined));
      return made ?? simError(op.type, "no output");
    });
  }

  #run(
    op: MilOperation,
    args: ReadonlyMap<string, readonly PackageTensor[]>,
    values: Map<string, PackageTensor>,
    state: SimState,
  ): void {
    if (op.type === "read_state" || op.type === "write_state") {
      const name = stateName(op);
      const held = state.tensors.get(name) ?? simError(op.type, `${name} is not a state`);
      const [output] = op.outputs;
      if (op.type === "read_state" && output !== undefined) values.set(output.name, held);
      else if (op.type === "write_state")
        state.tensors.set(name, args.get("data")?.[0] ?? simError(op.type, "no data"));
      return;
    }
    keep(
      op,
      this.#kernel(op, args, () => this.#held([values.values(), ...args.values()], state)),
      values,
    );
  }

  #kernel(
    op: MilOperation,
    args: ReadonlyMap<string, readonly PackageTensor[]>,
    held: () => number,
  ): readonly PackageTensor[] {
    const types = op.outputs.map((o) => asTensor(o.type));
    this.#constants.memory.need(operatorBytes(op.type, args, types), op.type, held);
    return runKernel(op.type, args, types);
  }

  /** Bytes of these tensors, of a state and of the kept constants; tensors that share their numbers count once. */
  #held(tensors: Iterable<Iterable<PackageTensor>>, state: SimState | undefined): number {
    const buffers = new Set<ArrayBufferLike>();
    for (const list of [...tensors, state?.tensors.values() ?? []])
      for (const { data } of list) buffers.add(data.buffer);
    return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, this.#constants.bytes);
  }
}

interface Running {
  readonly small: Map<string, PackageTensor>;
  readonly state: SimState;
  readonly signal: AbortSignal | undefined;
}

/** What a branch or a loop goes by. */
function flagOf(op: MilOperation, values: readonly PackageTensor[] | undefined): boolean {
  const flag = values?.[0];
  if (flag === undefined || flag.data.length !== 1)
    return simError(op.name, `${op.type} has no condition of one element`);
  return flag.data[0] !== 0;
}

/** Turns of a loop between two pauses. */
const TURNS_A_SLICE = 256;

/** Results under their names, if they are what the program declares. */
function keep(op: MilOperation, made: readonly PackageTensor[], values: Map<string, PackageTensor>): void {
  op.outputs.forEach((output, i) => {
    const tensor = made[i] ?? simError(op.type, `output ${i} was not made`);
    if (tensor.dtype !== output.type.dtype || !fits(tensor.shape, output.type))
      simError(
        op.name,
        `${op.type} made ${tensor.dtype}[${tensor.shape.join()}], the program declares ${output.type.dtype}[${output.type.shape.join()}]`,
      );
    values.set(output.name, tensor);
  });
}

/** Stands for a state operand, which is named and not read as a value. */
const STATE_MARK: PackageTensor = { dtype: "bool", shape: [], data: new Int32Array(1) };

function stateName(op: MilOperation): string {
  const binding = op.inputs.find(([name]) => name === "input")?.[1][0];
  return binding?.kind === "name" ? binding.name : simError(op.type, "no state is named");
}

const asTensor = (type: MilType): MilTensorType => ({ kind: "tensor", dtype: type.dtype, shape: type.shape });

const fits = (shape: readonly number[], type: MilType): boolean =>
  shape.length === type.shape.length && type.shape.every((d, i) => d === null || d === shape[i]);

/** Equal operands in the file decompress to the same values, in whatever function. */
function constexprKey(owner: string, op: MilOperation): string {
  return `${op.type}(${op.inputs
    .map(
      ([name, bindings]) =>
        `${name}=${bindings.map((b) => (b.kind === "name" ? `${owner}%${b.name}` : b.value.data.kind === "blob" ? `@${b.value.data.offset}` : JSON.stringify(b.value))).join()}`,
    )
    .join(";")})`;
}
