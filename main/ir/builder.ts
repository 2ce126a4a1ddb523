/**
 * The only way to make a graph: every node added is checked against the op table and typed by its
 * `infer`, so an ill-typed graph cannot be built.
 */
import { WorkbenchError, invariant } from "../diagnostics/errors.ts";
import type { AttrRecord } from "./attributes.ts";
import { attrsText, checkAttrs } from "./attributes.ts";
import { canonicalDim } from "./dim.ts";
import type { Graph, GraphOutput, GraphState, LeafOp, Node, NodeId, Origin, Value } from "./graph.ts";
import { isLeaf, placed, sameValue } from "./graph.ts";
import { hashTensor } from "./hash.ts";
import type { HostTensor } from "./hostTensor.ts";
import type { Initial } from "./initial.ts";
import { initialAttrs } from "./initial.ts";
import { Numbering, Sequences } from "./numbering.ts";
import type { OpSpec, OpTable } from "./opTable.ts";
import type { Rewind } from "./rewind.ts";
import { regionFaults } from "./regions.ts";
import type { TensorType } from "./type.ts";
import { formatType, sameType } from "./type.ts";

export interface ApplyOptions {
  readonly label?: string;
  readonly regions?: readonly Graph[];
  /** Given by the rewriter; the builder makes its own otherwise. */
  readonly origins?: readonly Origin[];
  readonly passes?: readonly string[];
}

export interface StateOptions extends ApplyOptions {
  /** How a session can rewind it: "checkpoint" works for every state, "positions" for caches. */
  readonly rewind?: Rewind;
  /** Of a ring: positions that it can go back; none without it. */
  readonly spare?: number;
  /** What it holds before the first run; zeros without one. */
  readonly initial?: Initial;
}

/** A param's place in its file. */
interface FileSource {
  /** WeightSource identity. */
  readonly file: string;
  readonly tensor: string;
}

/** A param in memory: the caller sets it, or it starts with its initial value. */
interface MemorySource {
  readonly memory: true;
  readonly initial?: Initial;
}

export type ParamSource = FileSource | MemorySource;

const sourceAttrs = (source: ParamSource): AttrRecord =>
  "memory" in source ? { memory: true, ...initialAttrs(source.initial) } : { file: source.file, tensor: source.tensor };

/** What an op makes of its attributes and the types of its operands. */
interface Inferred {
  readonly attrs: AttrRecord;
  readonly outputs: readonly TensorType[];
}

function checkRegions({ name, regionNames }: OpSpec, regions: readonly Graph[]): void {
  if (regions.length !== regionNames.length)
    throw new WorkbenchError(
      "IR_STRUCTURE",
      `[${name}] sub-graphs: got ${regions.length}, expected ${regionNames.join(", ") || "none"}`,
    );
  regions.forEach((region, i) => {
    const [fault] = regionFaults(region);
    if (fault !== undefined) throw new WorkbenchError("IR_STRUCTURE", `[${name}] ${regionNames[i] ?? ""}: ${fault}`);
  });
}

/** Most nodes have no sub-graphs and no pass made them: they share this list. */
const NONE: readonly never[] = [];

const valuesOf = (node: NodeId, count: number): readonly Value[] =>
  count === 1 ? [{ node, output: 0 }] : Array.from({ length: count }, (_, output) => ({ node, output }));

export class GraphBuilder {
  readonly table: OpTable;
  readonly name: string;
  #nodes: Node[] = [];
  #inputs: NodeId[] = [];
  #outputs: GraphOutput[] = [];
  #states = new Map<string, GraphState>();
  #constants = new Map<string, HostTensor>();
  #params = new Map<string, Value>();
  /** Of inputs and states; an output may have the name of one. */
  #names = new Set<string>();
  #outputNames = new Set<string>();
  /** Outermost first, joined. */
  #scope = "";
  #limits: Record<string, number> = {};
  /** One object per type, by its text: types are equal when their references are. */
  #types = new Map<string, TensorType>();
  #typeNumbers = new Numbering<TensorType>();
  /** Inferred types by op, operand types and attributes. Blocks repeat, so few of these serve thousands of nodes. */
  #inferred = new Map<string, Inferred>();
  /** The same for nodes of other graphs, whose attributes are told apart as objects. */
  #retyped = new Map<number, Inferred>();
  #kinds = new Sequences();
  #objects = new Numbering<object>();

  constructor(table: OpTable, name: string) {
    this.table = table;
    this.name = name;
  }

  /** Nodes so far, which is the id of the next. */
  get size(): number {
    return this.#nodes.length;
  }

  /** Runs `build` with a scope pushed: nodes made inside remember it. */
  scoped<T>(scope: string, build: () => T): T {
    const outer = this.#scope;
    this.#scope = outer === "" ? scope : `${outer}/${scope}`;
    try {
      return build();
    } finally {
      this.#scope = outer;
    }
  }

  limitSymbol(symbol: string, size: number): void {
    canonicalDim(symbol);
    this.#limits[symbol] = size;
  }

  input(name: string, type: TensorType, options: ApplyOptions = {}): Value {
    this.#claim(name);
    const value = this.#leaf("input", { name }, type, options);
    this.#inputs.push(value.node);
    return value;
  }

  /** A weight. The same name twice is the same node. */
  param(name: string, type: TensorType, source: ParamSource, options: ApplyOptions = {}): Value {
    const known = this.#params.get(name);
    if (known) {
      if (!sameType(this.typeOf(known), this.#canonicalType(type)))
        throw new WorkbenchError(
          "IR_TYPE",
          `[param] ${name} was ${formatType(this.typeOf(known))}, now ${formatType(type)}`,
        );
      return known;
    }
    const value = this.#leaf("param", { name, ...sourceAttrs(source) }, type, {
      label: name,
      ...options,
    });
    this.#params.set(name, value);
    return value;
  }

  constant(tensor: HostTensor, options: ApplyOptions = {}): Value {
    const data = hashTensor(tensor);
    this.#constants.set(data, tensor);
    return this.#leaf("constant", { data }, { dtype: tensor.dtype, shape: tensor.shape }, options);
  }

  /** A state read: its next value is `setState`, itself until then. */
  state(name: string, type: TensorType, options: StateOptions = {}): Value {
    this.#claim(name);
    const { rewind = "checkpoint", spare = 0, initial } = options;
    const back = rewind === "ring" ? { rewind, spare } : { rewind };
    const value = this.#leaf("state", { name, ...back, ...initialAttrs(initial) }, type, { label: name, ...options });
    this.#states.set(name, { name, input: value.node, output: value });
    return value;
  }

  /** A state with an initial value, for training: what an optimiser reads and writes. */
  variable(name: string, type: TensorType, initial: Initial, options: ApplyOptions = {}): Value {
    return this.state(name, type, { ...options, initial });
  }

  setState(name: string, value: Value): void {
    const state = this.#states.get(name);
    if (!state) {
      const known = this.#states.size === 0 ? "the graph has none" : `expected ${[...this.#states.keys()].join(", ")}`;
      throw new WorkbenchError("IR_STRUCTURE", `[state] no state "${name}": ${known}`);
    }
    const before = this.#node(state.input).outputs[0];
    const after = this.typeOf(value);
    if (before === undefined || !sameType(before, after))
      throw new WorkbenchError(
        "IR_TYPE",
        `[state] "${name}" changes type: got ${formatType(after)}, expected ${before ? formatType(before) : "nothing"}`,
      );
    this.#states.set(name, { ...state, output: value });
  }

  output(name: string, value: Value): void {
    this.#claim(name, this.#outputNames, `[graph] output ${JSON.stringify(name)}: got a second one, expected one`);
    this.typeOf(value);
    this.#outputs.push({ name, value });
  }

  apply(op: string, inputs: readonly Value[], attrs: AttrRecord = {}, options: ApplyOptions = {}): readonly Value[] {
    const spec = this.table.get(op);
    if (!spec) throw new WorkbenchError("IR_STRUCTURE", `[${op}] no such op in the table`);
    const { least, most } = spec.arity;
    if (inputs.length < least || inputs.length > most)
      throw new WorkbenchError(
        "IR_STRUCTURE",
        `[${op}] inputs: got ${inputs.length}, expected ${least === most ? least : `${least}..${most}`}`,
      );
    const regions = options.regions ?? NONE;
    // Nodes with sub-graphs are rare, and a sub-graph has no short text to look it up by.
    const { attrs: checked, outputs } =
      regions.length > 0 ? this.#infer(spec, inputs, attrs, regions) : this.#inferOnce(spec, inputs, attrs);
    return this.#push(op, inputs, checked, outputs, options);
  }

  /** A node of another graph over operands that have other types here. Nodes that are alike share the object of their attributes. */
  retype(node: Node, inputs: readonly Value[]): readonly Value[] {
    const { op, attrs, origins, passes, regions } = node;
    const spec = this.table.get(op);
    if (spec === undefined || regions.length > 0) return this.apply(op, inputs, attrs, { origins, passes, regions });
    let kind = this.#kinds.step(this.#kinds.step(0, this.#objects.of(spec)), this.#objects.of(attrs));
    for (const input of inputs) kind = this.#kinds.step(kind, this.#objects.of(this.typeOf(input)));
    const known = this.#retyped.get(kind) ?? this.#inferOnce(spec, inputs, attrs);
    this.#retyped.set(kind, known);
    return this.#push(op, inputs, known.attrs, known.outputs, { origins, passes });
  }

  #infer(spec: OpSpec, inputs: readonly Value[], attrs: AttrRecord, regions: readonly Graph[]): Inferred {
    checkRegions(spec, regions);
    const checked = checkAttrs(spec.name, spec.schema, attrs);
    const types = inputs.map((v) => this.typeOf(v));
    return { attrs: checked, outputs: spec.inferTypes(types, checked, regions).map((t) => this.#canonicalType(t)) };
  }

  #inferOnce(spec: OpSpec, inputs: readonly Value[], attrs: AttrRecord): Inferred {
    let key = `${spec.name} ${attrsText(attrs)}`;
    for (const input of inputs) key += ` ${this.#typeNumbers.of(this.typeOf(input))}`;
    const known = this.#inferred.get(key);
    if (known !== undefined) return known;
    const made = this.#infer(spec, inputs, attrs, []);
    this.#inferred.set(key, made);
    return made;
  }

  /** The same object when it is canonical already and the first of its kind. */
  #canonicalType(type: TensorType): TensorType {
    const shape = type.shape.map(canonicalDim);
    const own = shape.every((dim, i) => dim === type.shape[i]) ? type : { dtype: type.dtype, shape };
    const text = formatType(own);
    const known = this.#types.get(text);
    if (known !== undefined) return known;
    this.#types.set(text, own);
    return own;
  }

  /**
   * A node of another graph as it is, over operands of the types it had there: its attributes were
   * checked and its outputs inferred when it was made, so neither is done again. The object itself
   * is shared where its place is the same.
   */
  adopt(node: Node, inputs: readonly Value[], constants: Graph["constants"]): readonly Value[] {
    const id = this.#nodes.length as NodeId;
    const same = node.id === id && node.inputs.every((old, i) => inputs[i] !== undefined && sameValue(old, inputs[i]));
    this.#nodes.push(same ? node : placed(node, id, inputs));
    const values = valuesOf(id, node.outputs.length);
    const [value] = values;
    if (value !== undefined && isLeaf(node)) this.#register(node, String(node.attrs["name"]), value, constants);
    return values;
  }

  #register(node: Node, name: string, value: Value, constants: Graph["constants"]): void {
    switch (node.op) {
      case "input":
        this.#claim(name);
        this.#inputs.push(value.node);
        break;
      case "state":
        this.#claim(name);
        this.#states.set(name, { name, input: value.node, output: value });
        break;
      case "param":
        this.#params.set(name, value);
        break;
      case "constant": {
        const data = String(node.attrs["data"]);
        const tensor = constants.get(data);
        invariant(tensor, `constant ${data} has no data`);
        this.#constants.set(data, tensor);
        break;
      }
      default:
    }
  }

  typeOf(value: Value): TensorType {
    const type = this.#node(value.node).outputs[value.output];
    if (!type) throw new WorkbenchError("IR_STRUCTURE", `[graph] no output ${value.output} of node ${value.node}`);
    return type;
  }

  /** The data of a `constant` value, for rules that need it. */
  constantOf(value: Value): HostTensor | undefined {
    const data = this.#node(value.node).attrs["data"];
    return typeof data === "string" && this.#node(value.node).op === "constant" ? this.#constants.get(data) : undefined;
  }

  finish(): Graph {
    return {
      name: this.name,
      nodes: this.#nodes,
      inputs: this.#inputs,
      outputs: this.#outputs,
      states: [...this.#states.values()],
      constants: this.#constants,
      symbolLimits: this.#limits,
    };
  }

  #node(id: NodeId): Node {
    const node = this.#nodes[id];
    invariant(node, `node ${id} is not in graph ${this.name}`);
    return node;
  }

  #claim(name: string, names = this.#names, taken = `[graph] the name "${name}" is taken`): void {
    // Values are given by name in plain objects, which lose this one.
    if (name === "__proto__") throw new WorkbenchError("IR_STRUCTURE", `[graph] got "${name}", expected another name`);
    if (names.has(name)) throw new WorkbenchError("IR_STRUCTURE", taken);
    names.add(name);
  }

  #leaf(op: LeafOp, attrs: AttrRecord, type: TensorType, options: ApplyOptions): Value {
    const [value] = this.#push(op, [], attrs, [this.#canonicalType(type)], options);
    invariant(value, "a leaf has one output");
    return value;
  }

  #push(
    op: string,
    inputs: readonly Value[],
    attrs: AttrRecord,
    outputs: readonly TensorType[],
    options: ApplyOptions,
  ): readonly Value[] {
    const id = this.#nodes.length as NodeId;
    const origins = options.origins ?? [{ scope: this.#scope, label: options.label ?? op, source: id }];
    this.#nodes.push({
      id,
      op,
      inputs,
      attrs,
      outputs,
      origins,
      passes: options.passes ?? NONE,
      regions: options.regions ?? NONE,
    });
    return valuesOf(id, outputs.length);
  }
}
