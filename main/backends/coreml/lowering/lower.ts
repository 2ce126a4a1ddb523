/**
 * IR graphs → one MIL program. Each graph (decode, a prefill bucket, a segment) becomes a function; weights and constants
 * are shared by all of them. Graphs come in specialised (no symbols) and legalised (only ops with a native rule here).
 */
import { WorkbenchError, invariant } from "../../../diagnostics/errors.ts";
import type { AttrRecord } from "../../../ir/attributes.ts";
import { isPacked } from "../../../ir/dtype.ts";
import type { Graph, Node, Value } from "../../../ir/graph.ts";
import { isLeaf, isMemoryParam } from "../../../ir/graph.ts";
import { initialOf } from "../../../ir/initial.ts";
import type { NodeInfo } from "../../../ir/nodeInfo.ts";
import { NodeKinds } from "../../../ir/nodeKinds.ts";
import type { Rewind } from "../../../ir/rewind.ts";
import { rewindOf } from "../../../ir/rewind.ts";
import type { Steps } from "../../../ir/steps.ts";
import { each } from "../../../ir/steps.ts";
import { formatType, staticShape } from "../../../ir/type.ts";
import { BlobPlan } from "../blob.ts";
import type { CoremlRule } from "../emitter.ts";
import type { LoweringLevers } from "../levers.ts";
import { NO_LEVERS } from "../levers.ts";
import { whyNotHeld } from "../rules.ts";
import { MilFunctionBuilder } from "../mil/builder.ts";
import { NameTable } from "../mil/names.ts";
import type { MilDtype, MilFunction, MilOpset, MilProgram, MilType, MilValue } from "../mil/types.ts";
import { tensorType, typeText } from "../mil/types.ts";
import type { WeightProfile } from "../weights/forms.ts";
import { floatOf, keepsStates } from "../weights/forms.ts";
import type { SmallParts } from "../weights/plan.ts";
import { WeightPlan } from "../weights/plan.ts";
import { FunctionEmitter, stateShape } from "./functionEmitter.ts";
import { tensorOf, weightsRead32 } from "./reads32.ts";
import { weightsToSplit } from "./rowParts.ts";
import type { FunctionSource, RuleOf } from "./source.ts";

export interface LoweringOptions {
  readonly rules: RuleOf;
  readonly profile: WeightProfile;
  readonly opset: MilOpset;
  /** Found while the weights were written; absent on the first pass. */
  readonly folds?: ReadonlyMap<string, number>;
  /** Data of weights that stand in the program itself (`readSmallParts`). */
  readonly small?: SmallParts;
  readonly buildInfo?: Readonly<Record<string, string>>;
  readonly levers?: LoweringLevers;
  /** false: nothing is taken over from nodes that are alike. The program is the same (a test holds it to that). */
  readonly share?: boolean;
}

/** How one feature of a function stands for something of the graph. */
export interface FeatureBinding {
  readonly feature: string;
  /** `freshKeys`: what a functional cache gained; the host writes it at position `past` along the second axis. */
  readonly kind: "input" | "output" | "state" | "stateIn" | "stateOut" | "freshKeys";
  /** Name of the graph's input, output or state. */
  readonly name: string;
  readonly dtype: MilDtype;
  readonly shape: readonly number[];
  /** Dimensions that are the number of new tokens, whatever it is; `shape` then has the largest. */
  readonly free?: readonly number[];
  /** The numbers of new tokens that they may be; any up to the largest without it. */
  readonly sizes?: readonly number[];
  /** Of a state that is not a cache: how it goes back. It has no positions, and is read and written as a whole. */
  readonly rewind?: Exclude<Rewind, "positions">;
}

export interface LoweredFunction {
  readonly mil: MilFunction;
  readonly bindings: readonly FeatureBinding[];
}

export interface LoweredProgram {
  readonly program: MilProgram;
  readonly functions: readonly LoweredFunction[];
  readonly plan: WeightPlan;
  readonly opset: MilOpset;
  readonly float: "fp16" | "fp32";
}

export function* lowerProgram(sources: readonly FunctionSource[], options: LoweringOptions): Steps<LoweredProgram> {
  const { rowLimit, palette } = options.levers ?? NO_LEVERS;
  const plan = new WeightPlan(options.profile, new BlobPlan(), {
    reads32: weightsRead32(sources, options.rules),
    palette,
  });
  const float = floatOf(options.profile);
  const functions: LoweredFunction[] = [];
  const splits = weightsToSplit(sources, options.rules, rowLimit);
  for (const source of sources) functions.push(yield* new FunctionLowering(source, plan, float, options, splits).run());
  const program: MilProgram = { functions: functions.map((f) => f.mil), buildInfo: options.buildInfo ?? {} };
  return { program, functions, plan, opset: options.opset, float };
}

/** Of a leaf. A node that needs one that is not held finds no value. */
const isHeld = ({ outputs: [type] }: Node): boolean => type !== undefined && whyNotHeld(type) === undefined;

/** A package's states start as zeros. */
function requireZeros(node: Node, name: string): void {
  if (initialOf(node.attrs) === undefined) return;
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[coreml] state ${name}: got a variable, expected a state that starts as zeros`,
    { hint: "Run this graph on the CPU." },
  );
}

/** Nodes between two pauses. */
const SLICE = 128;

/** What a node needs that all of its kind share. */
interface KnownNode {
  readonly rule: CoremlRule<readonly MilValue[], AttrRecord>;
  readonly info: NodeInfo<AttrRecord>;
  /** Types of the results that were checked last. */
  made: readonly MilType[];
}

class FunctionLowering {
  readonly #graph: Graph;
  readonly #rules: RuleOf;
  readonly #builder: MilFunctionBuilder;
  readonly #emitter: FunctionEmitter;
  readonly #bindings: FeatureBinding[] = [];
  readonly #values: (readonly MilValue[])[] = [];
  readonly #states = new Map<number, string>();
  readonly #kinds = new NodeKinds();
  readonly #known = new Map<number, KnownNode>();
  readonly #share: boolean;
  readonly #scopes = new Map<string, string>();

  constructor(
    source: FunctionSource,
    plan: WeightPlan,
    float: "fp16" | "fp32",
    options: LoweringOptions,
    splits: ReadonlyMap<string, number>,
  ) {
    this.#graph = source.graph;
    this.#rules = options.rules;
    this.#builder = new MilFunctionBuilder(source.name, options.opset, new NameTable(), options);
    this.#share = options.share ?? true;
    const levers = options.levers ?? NO_LEVERS;
    const emitting = {
      float,
      caches:
        source.isPart !== true && keepsStates(options.profile, options.opset, levers.states)
          ? ("state" as const)
          : ("functional" as const),
      picksByProduct: levers.picksByProduct,
      splitRows: splits,
      folds: options.folds ?? new Map(),
      small: options.small ?? new Map(),
    };
    this.#emitter = new FunctionEmitter(this.#builder, plan, emitting, (region, values) =>
      this.#region(region, values),
    );
    for (const state of source.graph.states) this.#states.set(state.input, state.name);
  }

  *run(): Steps<LoweredFunction> {
    // Features first: their names must stay as close to the graph's as they can.
    const outputs = this.#graph.outputs.filter(({ value }) => this.#crosses(value));
    for (const output of outputs) this.#builder.reserveOutput(output.name);
    for (const node of this.#graph.nodes)
      if ((node.op === "input" || node.op === "state") && isHeld(node)) this.#values[node.id] = [this.#feature(node)];
    yield* each(this.#graph.nodes, SLICE, (node) => {
      this.#values[node.id] ??= this.#builder.from([node.id], this.#labelOf(node), () => this.#lower(node));
    });
    yield;
    this.#finishStates();
    for (const output of outputs) this.#output("output", output.name, this.#at(output.value));
    return { mil: this.#builder.finish(), bindings: this.#bindings };
  }

  /** A leaf that no package holds goes past the function, on the host; what a node makes is held, or it were no node here. */
  #crosses({ node: id }: Value): boolean {
    const node = this.#graph.nodes[id];
    return node === undefined || !isLeaf(node) || isHeld(node);
  }

  #at(value: Value): MilValue {
    const found = this.#values[value.node]?.[value.output];
    invariant(found, `value ${value.node}.${value.output} is read before it is made`);
    return found;
  }

  /** Rank-0 inputs are given as one element: a feature has at least one dimension. */
  #feature(node: Node): MilValue {
    const [type] = node.outputs;
    invariant(type, `${node.op} has no type`);
    const name = String(node.attrs["name"]);
    if (node.op === "state") requireZeros(node, name);
    const dtype = type.dtype === "bool" ? "int32" : this.#emitter.dtypeOf(type.dtype);
    const shape = staticShape(type, name);
    const asState = node.op === "state" && this.#emitter.caches === "state" && shape.length > 0;
    const featureShape = shape.length === 0 ? [1] : asState ? stateShape(shape) : shape;
    const featureType: MilType = asState
      ? { kind: "state", dtype, shape: featureShape }
      : tensorType(dtype, featureShape);
    const feature = this.#builder.input(name, featureType);
    const kind = node.op === "input" ? "input" : asState ? "state" : "stateIn";
    const rewind = node.op === "state" ? rewindOf(node) : "positions";
    this.#bindings.push({
      feature: feature.name,
      kind,
      name,
      dtype,
      shape: featureShape,
      ...(rewind !== "positions" && { rewind }),
    });
    return this.#builder.from([node.id], this.#labelOf(node), () => {
      if (asState) return this.#emitter.readState(feature, shape.at(-1) ?? 1);
      if (kind === "stateIn" && rewind === "positions" && shape.length > 0) return this.#emitter.passedCache(feature);
      const ranked = shape.length === 0 ? this.#emitter.op("squeeze", { x: feature, axes: [0] }) : feature;
      return type.dtype === "bool" ? this.#emitter.cast(ranked, "bool") : ranked;
    });
  }

  #lower(node: Node): readonly MilValue[] {
    if (isLeaf(node) && !isHeld(node)) return [];
    switch (node.op) {
      case "param":
        return [this.#param(node)];
      case "constant":
        return [this.#constant(node)];
      default:
        return this.#apply(node);
    }
  }

  #param(node: Node): MilValue {
    const [type] = node.outputs;
    invariant(type, "a param has a type");
    if (isMemoryParam(node))
      throw new WorkbenchError(
        "UNSUPPORTED_OP",
        `[coreml] ${tensorOf(node)}: got a parameter in memory, expected one in a file`,
        {
          hint: "A package holds its weights: run this graph on the CPU.",
        },
      );
    const shape = staticShape(type, "param");
    if (type.dtype === "i64" || type.dtype === "bool")
      throw new WorkbenchError(
        "UNSUPPORTED_TENSOR_TYPE",
        `[coreml] weight ${String(node.attrs["tensor"])} is ${formatType(type)}, expected floats or i32`,
      );
    const weight = this.#emitter.weight({ name: tensorOf(node), type: type.dtype, shape });
    return type.dtype === "i32" ? this.#emitter.cast(this.#emitter.dense(weight), "int32") : weight;
  }

  #constant(node: Node, graph: Graph = this.#graph): MilValue {
    const tensor = graph.constants.get(String(node.attrs["data"]));
    invariant(tensor, `constant ${node.id} has no data`);
    return this.#emitter.constant(this.#emitter.dtypeOf(tensor.dtype), tensor.shape, tensor.data);
  }

  /** A sub-graph over values of the function, or of the block that it stands in. */
  #region(region: Graph, operands: readonly MilValue[]): readonly MilValue[] {
    const values: (readonly MilValue[])[] = [];
    const at = (value: Value): MilValue => {
      const found = values[value.node]?.[value.output];
      invariant(found, `value ${value.node}.${value.output} of ${region.name} is read before it is made`);
      return found;
    };
    for (const node of region.nodes) {
      const operand = node.op === "input" ? operands[region.inputs.indexOf(node.id)] : undefined;
      if (operand) values[node.id] = [operand];
      else if (node.op === "constant") values[node.id] = isHeld(node) ? [this.#constant(node, region)] : [];
      else values[node.id] = this.#apply(node, region, at);
    }
    return region.outputs.map(({ value }) => at(value));
  }

  #apply(
    node: Node,
    graph: Graph = this.#graph,
    at: (value: Value) => MilValue = (value) => this.#at(value),
  ): readonly MilValue[] {
    const known = this.#knownNode(node, graph);
    const made = known.rule.emit(
      this.#emitter,
      node.inputs.map((v) => at(v)),
      node.attrs,
      known.info,
    );
    const outputs = Array.isArray(made) ? (made as readonly MilValue[]) : [made as MilValue];
    const checked = outputs.length === known.made.length && outputs.every(({ type }, i) => type === known.made[i]);
    if (!checked) {
      checkOutputs(node, outputs, this.#emitter);
      known.made = outputs.map(({ type }) => type);
    }
    return outputs;
  }

  #knownNode(node: Node, graph: Graph): KnownNode {
    const kind = this.#share && node.regions.length === 0 ? this.#kinds.of(graph, node) : undefined;
    const before = kind === undefined ? undefined : this.#known.get(kind);
    if (before !== undefined) return before;
    const rule = this.#rules(node.op);
    const info: NodeInfo<AttrRecord> = {
      inputs: node.inputs.map((v) => graph.nodes[v.node]?.outputs[v.output] ?? tensorless(v)),
      outputs: node.outputs,
      attrs: node.attrs,
      regions: node.regions,
    };
    const verdict = rule === undefined ? "the op has no Core ML rule" : (rule.when?.(info) ?? true);
    if (rule === undefined || verdict !== true)
      throw new WorkbenchError(
        "UNSUPPORTED_OP",
        `[${node.op}] node ${node.id} cannot be lowered to Core ML: ${verdict === true ? "no rule" : verdict}`,
        {
          hint: "Legalise the graph for coreml first; such nodes belong to a host segment.",
        },
      );
    const known: KnownNode = { rule, info, made: [] };
    if (kind !== undefined) this.#known.set(kind, known);
    return known;
  }

  /** "blk_7_attention_q": the place in the model makes MIL readable. */
  #labelOf({ op, origins: [origin] }: Node): string {
    if (origin === undefined) return op;
    const { scope, label } = origin;
    if (scope === "") return label;
    const known = this.#scopes.get(scope) ?? scope.replaceAll("/", "_");
    this.#scopes.set(scope, known);
    return `${known}_${label}`;
  }

  #finishStates(): void {
    for (const state of this.#graph.states) {
      if (!this.#crosses(state.output)) continue;
      const before = this.#at({ node: state.input, output: 0 });
      const after = this.#at(state.output);
      if (after === before) continue;
      const held = this.#emitter.stateOf(before);
      // An append wrote the state already; anything else is written whole.
      if (held !== undefined) {
        if (this.#emitter.stateOf(after) !== held) this.#emitter.replaceState(before, after);
      } else this.#stateOutput(state.name, after);
    }
  }

  /** A functional cache gives back only its new keys. */
  #stateOutput(name: string, after: MilValue): void {
    const { cache } = after;
    if (cache === undefined) this.#output("stateOut", name, after);
    else this.#output("freshKeys", name, cache.fresh);
  }

  #output(kind: FeatureBinding["kind"], name: string, value: MilValue): void {
    const dense = this.#emitter.dense(value);
    const numeric = dense.type.dtype === "bool" ? this.#emitter.cast(dense, "int32") : dense;
    const shape = this.#emitter.sizes(numeric, name);
    const ranked = shape.length === 0 ? this.#emitter.op("expand_dims", { x: numeric, axes: [0] }) : numeric;
    const feature = this.#builder.output(kind === "output" ? name : `${name}_next`, ranked);
    this.#bindings.push({ feature, kind, name, dtype: ranked.type.dtype, shape: shape.length === 0 ? [1] : shape });
  }
}

function tensorless(value: Value): never {
  throw new WorkbenchError("BUG_INVARIANT", `[lower] no value ${value.node}.${value.output}`);
}

/** What a rule made must be what the graph promises. */
function checkOutputs(node: Node, outputs: readonly MilValue[], emitter: FunctionEmitter): void {
  node.outputs.forEach((type, i) => {
    const made = outputs[i];
    invariant(made, `[${node.op}] output ${i} was not made`);
    const wanted = tensorType(
      isPacked(type.dtype) ? emitter.float : emitter.dtypeOf(type.dtype),
      staticShape(type, node.op),
    );
    const same = made.type.dtype === wanted.dtype && made.type.shape.join() === wanted.shape.join();
    if (!same)
      throw new WorkbenchError(
        "BUG_INVARIANT",
        `[${node.op}] the Core ML rule made ${typeText(made.type)}, the graph says ${typeText(wanted)}`,
      );
  });
}
