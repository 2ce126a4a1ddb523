/**
 * Parameters that no file holds, and variables: what a graph asks its sessions for besides inputs. A session keeps the
 * parameters (`setParam`, `setParamTyped`) and hands them to each run; variables are states with an initial value.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { DType } from "../ir/dtype.ts";
import { isDType } from "../ir/dtype.ts";
import type { Graph, Node } from "../ir/graph.ts";
import { isMemoryParam } from "../ir/graph.ts";
import type { NumberArray } from "../ir/hostBytes.ts";
import { numbersIn, typedArrayOf } from "../ir/hostBytes.ts";
import { hostTensor, sizeOf } from "../ir/hostTensor.ts";
import type { Initial } from "../ir/initial.ts";
import { initialOf, initialValues } from "../ir/initial.ts";
import type { GraphRun, GraphSession, SessionParams, TokenSession } from "../ir/session.ts";
import { staticShape } from "../ir/type.ts";

export interface MemoryLeaf {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly initial?: Initial;
}

function leafOf(node: Node): MemoryLeaf {
  const name = String(node.attrs["name"]);
  const [type] = node.outputs;
  if (type === undefined || !isDType(type.dtype))
    throw new WorkbenchError("BUG_INVARIANT", `[memory] ${name} is no plain tensor`);
  const initial = initialOf(node.attrs);
  return { name, dtype: type.dtype, shape: staticShape(type, name), ...(initial === undefined ? {} : { initial }) };
}

export const memoryParamsOf = (graph: Graph): readonly MemoryLeaf[] => graph.nodes.filter(isMemoryParam).map(leafOf);

export const initialTensor = ({ dtype, shape }: MemoryLeaf, initial: Initial): ReturnType<typeof hostTensor> =>
  initialValues(initial, { dtype, shape });

export class MemoryParams implements SessionParams {
  readonly #leaves: ReadonlyMap<string, MemoryLeaf>;
  readonly #values: Map<string, ArrayBufferView>;

  constructor(leaves: readonly MemoryLeaf[], values: ReadonlyMap<string, ArrayBufferView> = new Map()) {
    this.#leaves = new Map(leaves.map((leaf) => [leaf.name, leaf]));
    this.#values = new Map(values);
  }

  setParam(name: string, values: ArrayLike<number>): void {
    const { dtype, shape } = this.#leaf(name);
    this.#checkCount(name, values.length);
    this.#values.set(name, typedArrayOf(hostTensor(dtype, shape, Float64Array.from(values))));
  }

  setParamTyped(name: string, dtype: DType, values: ArrayBufferView): void {
    const leaf = this.#leaf(name);
    if (leaf.dtype !== dtype)
      throw new WorkbenchError("INPUT_ARGUMENT", `[params] ${name}: got ${dtype}, expected ${leaf.dtype}`, {
        hint: "Use setParam, which converts numbers to the parameter's type.",
      });
    const empty = typedArrayOf(hostTensor(dtype, leaf.shape, new Float64Array(sizeOf(leaf.shape) * width(dtype))));
    if (values.byteLength !== empty.byteLength)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[params] ${name}: got ${values.byteLength} bytes, expected ${empty.byteLength}`,
      );
    const bytes = new Uint8Array(empty.buffer, empty.byteOffset, empty.byteLength);
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    this.#values.set(name, empty);
  }

  getParam(name: string): NumberArray {
    const leaf = this.#leaf(name);
    return numbersIn(leaf.dtype, this.#valueOf(leaf)).slice();
  }

  /** Every parameter as an input of a run: as it was set, else its initial value. */
  inputs(): Readonly<Record<string, ArrayBufferView>> {
    const inputs: Record<string, ArrayBufferView> = {};
    for (const leaf of this.#leaves.values()) inputs[leaf.name] = this.#valueOf(leaf);
    return inputs;
  }

  fork(): MemoryParams {
    return new MemoryParams([...this.#leaves.values()], this.#values);
  }

  #valueOf(leaf: MemoryLeaf): ArrayBufferView {
    const known = this.#values.get(leaf.name);
    if (known !== undefined) return known;
    if (leaf.initial === undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", `[params] ${leaf.name} has no value`, {
        hint: "Set it with setParam before the first run, or give it an initial value.",
      });
    const made = typedArrayOf(initialTensor(leaf, leaf.initial));
    this.#values.set(leaf.name, made);
    return made;
  }

  #leaf(name: string): MemoryLeaf {
    const leaf = this.#leaves.get(name);
    if (leaf !== undefined) return leaf;
    const names = [...this.#leaves.keys()].join(", ") || "none";
    throw new WorkbenchError("INPUT_ARGUMENT", `[params] got ${name}, expected a parameter in memory: ${names}`);
  }

  #checkCount(name: string, got: number): void {
    const { dtype, shape } = this.#leaf(name);
    const expected = sizeOf(shape) * width(dtype);
    if (got !== expected)
      throw new WorkbenchError("INPUT_ARGUMENT", `[params] ${name}: got ${got} numbers, expected ${expected}`);
  }
}

/** Numbers of one element. */
const width = (dtype: DType): number => (dtype === "c64" ? 2 : 1);

/** A state as the sessions of a plan save it without positions. */
export type SavedState = { readonly kind: "cache" } | { readonly kind: "whole"; readonly leaf: MemoryLeaf };

/** The states of a graph with variables, in order; undefined for one without any. */
export function savedStatesOf(graph: Graph): readonly SavedState[] | undefined {
  const leaves = graph.states.flatMap(({ input }) => graph.nodes[input] ?? []);
  if (leaves.every(({ attrs }) => initialOf(attrs) === undefined)) return undefined;
  return leaves.map((node) =>
    node.attrs["rewind"] === "positions" ? { kind: "cache" } : { kind: "whole", leaf: leafOf(node) },
  );
}

/** The bytes that put every variable to its initial value, and other states to zero. */
export function initialStates(states: readonly SavedState[]): Uint8Array {
  const parts = states.flatMap((state) => {
    if (state.kind === "cache") return [];
    const { leaf } = state;
    const array = typedArrayOf(initialTensor(leaf, leaf.initial ?? { kind: "constant", value: 0 }));
    return [new Uint8Array(array.buffer, array.byteOffset, array.byteLength)];
  });
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  return bytes;
}

/** What the sessions of a graph hold in memory besides its plain states. */
export interface MemoryFacts {
  readonly params: readonly MemoryLeaf[];
  readonly states: readonly SavedState[] | undefined;
}

export const NO_MEMORY: MemoryFacts = { params: [], states: undefined };
export const memoryOf = (graph: Graph): MemoryFacts => ({
  params: memoryParamsOf(graph),
  states: savedStatesOf(graph),
});
export const holdsMemory = ({ params, states }: MemoryFacts): boolean => params.length > 0 || states !== undefined;

type Restorable = Pick<GraphSession, "restore">;

/** The parameters of one session, and whether its variables have their first values yet. */
export class SessionMemory {
  readonly params: MemoryParams;
  readonly #facts: MemoryFacts;
  readonly #session: Restorable;
  #started: Promise<void> | undefined;

  /** `held`: the parameters of the session that this one is a fork of. It goes on with the states it was given. */
  constructor(facts: MemoryFacts, session: Restorable, held?: MemoryParams) {
    this.params = held ?? new MemoryParams(facts.params);
    this.#facts = facts;
    this.#session = session;
    this.#started = held === undefined ? undefined : Promise.resolve();
  }

  /** Puts variables to their first values, once. */
  start(): Promise<void> {
    const { states } = this.#facts;
    return (this.#started ??=
      states === undefined ? Promise.resolve() : this.#session.restore(0, initialStates(states)));
  }

  /** A request with the parameters among its inputs, once the variables have started. */
  async ready<R extends GraphRun>(request: R): Promise<R> {
    await this.start();
    return { ...request, inputs: { ...request.inputs, ...this.params.inputs() } };
  }

  restored(): void {
    this.#started = Promise.resolve();
  }

  wasReset(): void {
    this.#started = undefined;
  }

  fork(session: Restorable): SessionMemory {
    return new SessionMemory(this.#facts, session, this.params.fork());
  }
}

/** The session of a graph with these facts: itself where it holds nothing in memory. */
export const openWithMemory = (session: TokenSession, facts: MemoryFacts): TokenSession =>
  holdsMemory(facts) ? withMemory(session, new SessionMemory(facts, session)) : session;

/** A session that hands its parameters to each run, and starts its variables before the first. */
export function withMemory(session: TokenSession, memory: SessionMemory): TokenSession {
  const run: TokenSession["tokens"]["run"] = async (request, signal) => {
    const result = await session.tokens.run(await memory.ready(request), signal);
    return result;
  };
  return {
    threads: session.threads,
    params: memory.params,
    tokens: { ...session.tokens, run },
    run,
    fork: async (positions) => {
      await memory.start();
      const fork = await session.fork(positions);
      return withMemory(fork, memory.fork(fork));
    },
    save: async (positions) => {
      await memory.start();
      return session.save(positions);
    },
    restore: async (positions, state) => {
      await session.restore(positions, state);
      memory.restored();
    },
    reset: async () => {
      await session.reset();
      memory.wasReset();
    },
    bytes: (positions) => session.bytes(positions),
    dispose: () => session.dispose(),
  };
}
