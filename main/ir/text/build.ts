/**
 * A graph from the statements of a text. The builder types each node as it does anywhere; what it refuses becomes a
 * diagnostic at the words that it is about, and a value of the stated type stands in, so that the rest is checked too.
 */
import type { ErrorCode } from "../../diagnostics/codes.ts";
import { toWireError } from "../../diagnostics/errors.ts";
import type { AttrRecord, AttrValue } from "../attributes.ts";
import type { ApplyOptions } from "../builder.ts";
import { GraphBuilder } from "../builder.ts";
import { unheld } from "../dtype.ts";
import type { Graph, GraphState, LeafOp, Node, NodeId, Value } from "../graph.ts";
import { LEAF_OPS } from "../graph.ts";
import type { HostTensor } from "../hostTensor.ts";
import type { OpTable } from "../opTable.ts";
import type { Steps } from "../steps.ts";
import { finish } from "../steps.ts";
import type { TensorType } from "../type.ts";
import { formatType, parseType, sameType } from "../type.ts";
import { verifyLeaves } from "../verify.ts";
import { Constants } from "./constants.ts";
import type { Diagnostic, Fix } from "./diagnostics.ts";
import { Faults, textError } from "./diagnostics.ts";
import { nearest } from "./nearest.ts";
import { readTextSteps } from "./reader.ts";
import type { Span } from "./scanner.ts";
import { numberText } from "./spelling.ts";
import type { Attribute, Block, Definition, Saying, Statement, ValueWord, Word } from "./syntax.ts";

export interface TextOptions {
  /** The data of constants that the text knows by their hash alone. */
  readonly constants?: ReadonlyMap<string, HostTensor>;
}

/** What a text says: a graph where nothing is wrong with it. */
export interface ReadGraph {
  readonly graph: Graph | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** The values of the text's outer graph, by the offset of the word that defines them. */
  readonly values: ReadonlyMap<number, Value>;
  /** The types of each of those values' results, also where something else is wrong. */
  readonly types: () => ReadonlyMap<number, readonly TensorType[]>;
}

export const readGraph = (table: OpTable, text: string, options: TextOptions = {}): ReadGraph =>
  finish(readGraphSteps(table, text, options));

/** The same with pauses: a long text takes seconds. */
export function* readGraphSteps(table: OpTable, text: string, options: TextOptions = {}): Steps<ReadGraph> {
  const faults = new Faults(text);
  const around: Surroundings = { table, faults, constants: new Constants(faults, options.constants), types: new Map() };
  let builder: BlockBuilder | undefined;
  yield* readTextSteps(text, faults, {
    begin: (name) => (builder = new BlockBuilder(around, name)),
    statement: (statement) => builder?.statement(statement),
    end: () => undefined,
  });
  yield;
  const graph = builder?.graph();
  // Leaves come into the graph as they are: what the builder would ask of them is asked here.
  if (graph !== undefined && faults.list.length === 0)
    for (const { code, node, path, message } of verifyLeaves(table, graph))
      faults.add(code, builder?.spanOf(path === undefined ? node : undefined) ?? START, message);
  const diagnostics = faults.sorted();
  return {
    graph: diagnostics.length === 0 ? graph : undefined,
    diagnostics,
    values: builder?.defined ?? new Map<number, Value>(),
    types: () => builder?.types() ?? new Map<number, readonly TensorType[]>(),
  };
}

const START: Span = { start: 0, end: 0 };

/** The graph of a text, or an error with the first fault. `name` is the text's in messages. */
export function parseGraph(
  table: OpTable,
  text: string,
  options: TextOptions & { readonly name?: string } = {},
): Graph {
  const { graph, diagnostics } = readGraph(table, text, options);
  if (graph === undefined) throw textError(options.name ?? "text", diagnostics);
  return graph;
}

interface Surroundings {
  readonly table: OpTable;
  readonly faults: Faults;
  readonly constants: Constants;
  /** Types that were read, by their text: most lines repeat one. */
  readonly types: Map<string, TensorType>;
}

const LEAVES: ReadonlySet<string> = new Set(LEAF_OPS);
const isLeafOp = (op: string): op is LeafOp => LEAVES.has(op);

const NO_ATTRIBUTES: AttrRecord = {};
const NO_CONSTANTS: ReadonlyMap<string, HostTensor> = new Map();

/** What stands for values whose types nothing tells. */
const UNKNOWN = "unknown";
type Known = Value | typeof UNKNOWN;

class BlockBuilder {
  readonly #around: Surroundings;
  readonly #builder: GraphBuilder;
  /** Results of each name. */
  readonly #values = new Map<string, readonly Known[]>();
  /** Where the statement of each node begins and ends. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly defined = new Map<number, Value>();
  readonly #results = new Map<number, readonly Known[]>();
  #inputs: readonly NodeId[] | undefined;
  /** Nodes that are inputs. */
  readonly #leaves = new Set<NodeId>();
  readonly #limited = new Set<string>();
  readonly #nexts: string[] = [];
  /** Where each output was returned first. */
  readonly #returned = new Map<string, number>();
  /** Every value that it needs could be made. */
  #isWhole = true;

  constructor(around: Surroundings, name: Word) {
    this.#around = around;
    this.#builder = new GraphBuilder(around.table, name.text);
  }

  graph(): Graph {
    const graph = this.#builder.finish();
    return { ...graph, inputs: this.#inputs ?? graph.inputs, states: this.#ordered(graph.states) };
  }

  spanOf(node: number | undefined): Span | undefined {
    if (node === undefined) return undefined;
    const [start, end] = [this.#starts[node], this.#ends[node]];
    return start === undefined || end === undefined ? undefined : { start, end };
  }

  types(): ReadonlyMap<number, readonly TensorType[]> {
    return new Map(
      [...this.#results].map(([at, results]) => [
        at,
        results.flatMap((value) => (value === UNKNOWN ? [] : [this.#builder.typeOf(value)])),
      ]),
    );
  }

  /** States in the order of their `next` lines, those without one behind them. */
  #ordered(states: readonly GraphState[]): readonly GraphState[] {
    if (this.#nexts.length === 0) return states;
    const place = new Map(this.#nexts.map((name, i) => [name, i]));
    return states.toSorted((a, b) => (place.get(a.name) ?? Infinity) - (place.get(b.name) ?? Infinity) || 0);
  }

  statement({ says, span }: Statement): void {
    switch (says.kind) {
      case "definition":
        this.#define(says, span);
        return;
      case "lost":
        this.#values.set(says.value.name, [UNKNOWN]);
        this.#isWhole = false;
        return;
      case "limit":
        this.#limit(says, span);
        return;
      case "inputs":
        this.#signature(says.values);
        return;
      default: {
        const value = this.#value(says.value);
        if (value === UNKNOWN) {
          this.#isWhole = false;
          return;
        }
        const name = says.name.text;
        if (says.kind === "return") this.#return(says.name, value, span);
        else {
          this.#nexts.push(name);
          this.#try(span, () => this.#builder.setState(name, value));
        }
      }
    }
  }

  #return(name: Word, value: Value, span: Span): void {
    const first = this.#returned.get(name.text);
    if (first === undefined) {
      this.#returned.set(name.text, name.start);
      this.#try(span, () => this.#builder.output(name.text, value));
      return;
    }
    const { line } = this.#around.faults.placeOf(first);
    const message = `output ${JSON.stringify(name.text)} is returned twice: first on line ${line}`;
    this.#fault("IR_STRUCTURE", name, message);
  }

  #limit({ symbol, size }: Extract<Saying, { readonly kind: "limit" }>, span: Span): void {
    if (this.#limited.has(symbol.text))
      this.#fault("IR_STRUCTURE", symbol, `${symbol.text} has a limit already: got a second one, expected one`);
    this.#limited.add(symbol.text);
    if (Number.isSafeInteger(size) && size >= 0) this.#try(symbol, () => this.#builder.limitSymbol(symbol.text, size));
    else
      this.#fault("IR_SHAPE", span, `limit of ${symbol.text}: got ${numberText(size)}, expected a whole number from 0`);
  }

  #signature(words: readonly ValueWord[]): void {
    const nodes: NodeId[] = [];
    for (const word of words) {
      const value = this.#value(word);
      if (value === UNKNOWN) continue;
      if (!this.#leaves.has(value.node))
        this.#fault("IR_STRUCTURE", word, `inputs: got ${word.text}, expected the value of an input`);
      else if (nodes.includes(value.node))
        this.#fault("IR_STRUCTURE", word, `inputs: got ${word.text} twice, expected each input once`);
      nodes.push(value.node);
    }
    this.#inputs = nodes;
  }

  #define(definition: Definition, span: Span): void {
    const { value, op, types } = definition;
    const stated = types.map((word) => this.#type(word));
    const isSecond = this.#values.has(value.name);
    const known = isLeafOp(op.text)
      ? // A leaf that is defined again would have a name that is taken, too.
        isSecond
        ? undefined
        : this.#leaf(definition, op.text, stated, span)
      : this.#node(definition, stated, { start: op.start, end: span.end });
    const results: readonly Known[] = known ?? this.#standIns(stated);
    const [first] = results;
    this.#results.set(value.start, results);
    if (first !== undefined && first !== UNKNOWN) {
      this.#starts[first.node] = span.start;
      this.#ends[first.node] = span.end;
      this.defined.set(value.start, first);
    }
    if (value.text.includes("."))
      this.#fault("IR_STRUCTURE", value, `got ${value.text}, expected the name of a new value`);
    if (isSecond)
      this.#fault(
        "IR_STRUCTURE",
        value,
        `%${value.name} is defined already: got a second definition, expected another name`,
      );
    this.#values.set(value.name, results);
  }

  /** Results of a node that could not be made, so that those that use it are checked. */
  #standIns(stated: readonly (TensorType | undefined)[]): readonly Known[] {
    this.#isWhole = false;
    if (stated.length === 0) return [UNKNOWN];
    return stated.map((type) => {
      if (type === undefined) return UNKNOWN;
      // Params may share a name. A graph with a fault is given to nothing, so this one is never seen.
      const [value = UNKNOWN] = this.#adopt("param", { name: "" }, type, {});
      return value;
    });
  }

  #node(statement: Definition, stated: readonly (TensorType | undefined)[], span: Span): readonly Value[] | undefined {
    const { op, operands, attributes } = statement;
    const inputs = operands.map((word) => this.#value(word));
    const spec = this.#around.table.get(op.text);
    if (spec === undefined) {
      this.#unknown("IR_STRUCTURE", op, `[${op.text}] no such op`, [...this.#around.table.names, ...LEAF_OPS]);
      return undefined;
    }
    const attrs = this.#attributes(attributes, Object.keys(spec.schema), op.text);
    const read = statement.regions.map((block) => this.#region(block));
    const regions = read.filter((region) => region !== undefined);
    const values = inputs.filter((input) => input !== UNKNOWN);
    const isWhole = values.length === inputs.length && regions.length === read.length;
    if (attrs === undefined || !isWhole) return undefined;
    const made = this.#try(span, () =>
      this.#builder.apply(op.text, values, attrs, { ...this.#options(statement), regions }),
    );
    if (made !== undefined) this.#compare(statement, made, stated);
    return made;
  }

  /** Undefined where values stand in for others: a node over it would be told to be wrong, too, for that alone. */
  #region({ name, statements }: Block): Graph | undefined {
    const builder = new BlockBuilder(this.#around, name);
    for (const statement of statements) builder.statement(statement);
    return builder.#isWhole ? builder.graph() : undefined;
  }

  /** Types that are stated must be those that follow. */
  #compare(
    { types, op, value }: Definition,
    made: readonly Value[],
    stated: readonly (TensorType | undefined)[],
  ): void {
    if (types.length === 0) return;
    const inferred = made.map((result) => this.#builder.typeOf(result));
    if (types.length !== made.length) {
      const got = `got ${types.length}, expected ${made.length}: ${inferred.map(formatType).join(", ")}`;
      this.#fault("IR_TYPE", types[0] ?? value, `[${op.text}] types of its results: ${got}`);
      return;
    }
    for (const [i, type] of inferred.entries()) {
      const word = types[i];
      const said = stated[i];
      if (word === undefined || said === undefined || said === type || sameType(said, type)) continue;
      const text = formatType(type);
      this.#fault("IR_TYPE", word, `[${op.text}] type: got ${word.text}, expected ${text}`, {
        title: `write ${text}`,
        span: word,
        text,
      });
    }
  }

  #leaf(
    statement: Definition,
    op: LeafOp,
    stated: readonly (TensorType | undefined)[],
    span: Span,
  ): readonly Value[] | undefined {
    const [type] = stated;
    if (type === undefined || stated.length > 1) {
      if (statement.types.length !== 1)
        this.#fault("IR_TYPE", statement.op, `[${op}] type: got ${stated.length}, expected one, such as f32[T,64]`);
      return undefined;
    }
    if (op === "constant") return this.#constant(statement, type, span);
    const name = statement.leafName?.text ?? statement.value.name;
    const said = this.#attributes(statement.attributes, LEAF_ATTRIBUTES[op], op);
    if (said === undefined) return undefined;
    const wrong = typeof said["value"] === "number" ? unheld(type.dtype, [said["value"]]) : undefined;
    if (wrong !== undefined) {
      const expected = `expected what ${type.dtype} holds`;
      this.#fault("IR_ATTRIBUTE", span, `[${op}] value: got ${numberText(wrong)}, ${expected}`);
      return undefined;
    }
    const attrs: Record<string, AttrValue> = { name };
    // In the builder's order, which the graph's hash sees.
    for (const key of LEAF_ATTRIBUTES[op]) {
      const value = said[key] ?? (key === "rewind" ? "checkpoint" : undefined);
      if (value !== undefined) attrs[key] = value;
    }
    const options = this.#options(statement, op === "input" ? op : name);
    const made = this.#try(span, () => this.#adopt(op, attrs, type, options));
    if (op === "input") for (const { node } of made ?? []) this.#leaves.add(node);
    return made;
  }

  #constant(statement: Definition, type: TensorType, span: Span): readonly Value[] | undefined {
    const { data, op } = statement;
    if (data === undefined) return undefined;
    const tensor = this.#try(span, () => this.#around.constants.tensor(data, type, op));
    return tensor && [this.#builder.constant(tensor, this.#options(statement))];
  }

  /** Undefined where one of them is unknown. Values are the op's to check. */
  #attributes(attributes: readonly Attribute[], names: readonly string[], op: string): AttrRecord | undefined {
    if (attributes.length === 0) return NO_ATTRIBUTES;
    const attrs: Record<string, AttrValue> = {};
    let isWhole = true;
    for (const { key, value } of attributes) {
      if (Object.hasOwn(attrs, key.text)) {
        this.#fault("IR_ATTRIBUTE", key, `[${op}] attribute "${key.text}" is given twice`);
        isWhole = false;
      } else if (!names.includes(key.text)) {
        const message = `[${op}] unknown attribute "${key.text}": expected ${names.join(", ") || "none"}`;
        this.#unknown("IR_ATTRIBUTE", key, message, names);
        isWhole = false;
      } else attrs[key.text] = value;
    }
    return isWhole ? attrs : undefined;
  }

  /** A leaf as the text says it. */
  #adopt(
    op: LeafOp,
    attrs: AttrRecord,
    type: TensorType,
    { origins = [], passes = [] }: ApplyOptions,
  ): readonly Value[] {
    // adopt places it: the builder knows its next id.
    const leaf: Node = { id: -1 as NodeId, op, inputs: [], attrs, outputs: [type], origins, passes, regions: [] };
    return this.#builder.adopt(leaf, [], NO_CONSTANTS);
  }

  #options({ provenance, op }: Definition, label = op.text): ApplyOptions {
    if (provenance !== undefined) return { origins: provenance.origins, passes: provenance.passes };
    return { origins: [{ scope: "", label, source: this.#builder.size }] };
  }

  #value(word: ValueWord): Known {
    const known = this.#values.get(word.name);
    if (known === undefined) {
      this.#unknown(
        "IR_STRUCTURE",
        word,
        `no value ${word.text} is defined above`,
        this.#values.keys(),
        (name) => `%${name}`,
      );
      return UNKNOWN;
    }
    const value = known[word.output];
    if (value !== undefined) return value;
    if (known[0] === UNKNOWN) return UNKNOWN;
    const last = known.length === 1 ? "" : ` to %${word.name}.${known.length - 1}`;
    this.#fault("IR_STRUCTURE", word, `results of %${word.name}: got ${word.text}, expected %${word.name}${last}`);
    return UNKNOWN;
  }

  #type(word: Word): TensorType | undefined {
    const known = this.#around.types.get(word.text);
    if (known !== undefined) return known;
    const type = this.#try(word, () => parseType(word.text));
    if (type !== undefined) this.#around.types.set(word.text, type);
    return type;
  }

  #unknown(
    code: ErrorCode,
    word: Word,
    message: string,
    candidates: Iterable<string>,
    written: (name: string) => string = (name) => name,
  ): void {
    const meant = nearest("name" in word ? String(word.name) : word.text, candidates);
    const fix =
      meant === undefined ? undefined : { title: `write ${written(meant)}`, span: word, text: written(meant) };
    this.#fault(code, word, message, fix);
  }

  #fault(code: ErrorCode, span: Span, message: string, fix?: Fix): void {
    this.#around.faults.add(code, { start: span.start, end: span.end }, message, fix);
  }

  #try<T>(span: Span, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      const { code, message } = toWireError(error);
      this.#fault(code, span, message);
      return undefined;
    }
  }
}

const INITIAL = ["initial", "value", "scale", "seed"];
const LEAF_ATTRIBUTES = {
  input: [],
  param: ["file", "tensor", "memory", ...INITIAL],
  state: ["rewind", "spare", ...INITIAL],
} as const satisfies Record<Exclude<LeafOp, "constant">, readonly string[]>;
