/**
 * A legalised graph becomes a plan draft: each op's `cpu` entry emits instructions; half floats are cast around kernels
 * that compute in f32; states are aliased in place where nothing else reads their old value.
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { AttrRecord } from "../../ir/attributes.ts";
import type { Graph, Node, Value } from "../../ir/graph.ts";
import { isMemoryParam } from "../../ir/graph.ts";
import { lowerNodes } from "../../ir/lowerNodes.ts";
import { rewindOf } from "../../ir/rewind.ts";
import { like, type TensorType } from "../../ir/type.ts";
import type { LocateWeight } from "../../ir/weightPlace.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import type { LowerInto } from "./control.ts";
import { emitBranch, emitLoop } from "./control.ts";
import { emitScan } from "./scanLoop.ts";
import type { DraftInstruction } from "./draft.ts";
import { PlanDraft, passedOn, usesOf } from "./draft.ts";
import type { CpuEmitter, CpuValue, KernelParams } from "./emitter.ts";
import { inPlace, takesAnyType, writesAnyType } from "./kernelFacts.ts";
import type { CpuKernel } from "./kernels.ts";

/** The `cpu` entry of an op: native with its rule, or the reason why there is none. Implemented over main/ops. */
export interface CpuRule {
  readonly emit: (
    emitter: CpuEmitter,
    inputs: readonly CpuValue[],
    attrs: AttrRecord,
    node: NodeInfo<AttrRecord>,
  ) => CpuValue | readonly CpuValue[];
}
export type CpuRules = (op: string) => CpuRule | string;

const isHalf = (type: TensorType): boolean => type.dtype === "f16" || type.dtype === "bf16";

export function lower(graph: Graph, rules: CpuRules, locate: LocateWeight): PlanDraft {
  const draft = new PlanDraft();
  const scope: Scope = { draft, rules, constants: new Map() };
  const valueOf = lowerAll(graph, scope, (node) => leafOf(draft, node, locate));
  for (const state of graph.states) {
    const value = valueOf({ node: state.input, output: 0 });
    const leaf = graph.nodes[state.input];
    invariant(leaf, `state ${state.name} has a leaf`);
    draft.states.push({
      name: state.name,
      rewind: rewindOf(leaf),
      value: value.id,
      next: valueOf(state.output).id,
    });
  }
  for (const output of graph.outputs) draft.outputs.push({ name: output.name, value: valueOf(output.value).id });
  return draft;
}

interface Scope {
  readonly draft: PlanDraft;
  readonly rules: CpuRules;
  /** By content: sub-graphs share them with the graph. */
  readonly constants: Map<string, CpuValue>;
  /** In a sub-graph: the node of the graph itself that it belongs to. */
  readonly owner?: number;
}

/** `leaf` supplies values passed in; constants and computed values are handled here. */
const lowerAll = (
  graph: Graph,
  scope: Scope,
  leaf: (node: Node) => CpuValue | undefined,
): ((value: Value) => CpuValue) =>
  lowerNodes<CpuValue>(graph, (node, valueOf) => {
    const given = node.op === "constant" ? constantOf(graph, node, scope) : leaf(node);
    return given ? [given] : lowerNode(node, scope, valueOf);
  });

function constantOf(graph: Graph, node: Node, { draft, constants }: Scope): CpuValue {
  const hash = String(node.attrs["data"]);
  const data = graph.constants.get(hash);
  const [type] = node.outputs;
  invariant(type && data, `constant ${node.id} has no data`);
  const value = constants.get(hash) ?? draft.newValue(type, draft.newBuffer({ kind: "constant", data }));
  constants.set(hash, value);
  return value;
}

function leafOf(draft: PlanDraft, node: Node, locate: LocateWeight): CpuValue | undefined {
  const [type] = node.outputs;
  if (type === undefined) return undefined;
  const name = String(node.attrs["name"]);
  switch (node.op) {
    case "input": {
      const value = draft.newValue(type, draft.newBuffer({ kind: "input", name }));
      draft.inputs.push({ name, value: value.id });
      return value;
    }
    case "state":
      return draft.newValue(type, draft.newBuffer({ kind: "state", name }));
    case "param": {
      if (isMemoryParam(node)) {
        const value = draft.newValue(type, draft.newBuffer({ kind: "input", name }));
        draft.inputs.push({ name, value: value.id });
        return value;
      }
      const place = locate(String(node.attrs["file"]), String(node.attrs["tensor"]));
      return draft.newValue(type, draft.newBuffer({ kind: "weight", place }));
    }
    default:
      return undefined;
  }
}

function lowerNode(node: Node, scope: Scope, valueOf: (value: Value) => CpuValue): readonly CpuValue[] {
  const rule = scope.rules(node.op);
  if (typeof rule === "string")
    throw new WorkbenchError("UNSUPPORTED_OP", `[cpu] ${node.op}: ${rule}`, {
      hint: "Legalise the graph for the cpu first.",
    });
  const inputs = node.inputs.map(valueOf);
  const { outputs, attrs, regions } = node;
  const info = { inputs: inputs.map((value) => value.type), outputs, attrs, regions };
  const result = rule.emit(emitterFor(scope, scope.owner ?? node.id), inputs, node.attrs, info);
  return Array.isArray(result) ? (result as readonly CpuValue[]) : [result as CpuValue];
}

/** A sub-graph as instructions over the values it is handed. */
function lowerRegion(scope: Scope, owner: number, region: Graph | undefined): LowerInto {
  invariant(region, "[cpu] a sub-graph is missing");
  return (values) => {
    const valueOf = lowerAll(region, { ...scope, owner }, (node) =>
      node.op === "input" ? values[region.inputs.indexOf(node.id)] : undefined,
    );
    return region.outputs.map((output) => valueOf(output.value));
  };
}

function emitterFor(scope: Scope, node: number): CpuEmitter {
  const { draft } = scope;
  const nodes = [node];
  const push = (
    kernel: CpuKernel,
    inputs: readonly number[],
    types: readonly TensorType[],
    params: KernelParams,
  ): readonly CpuValue[] => {
    const outputs = types.map((type) => draft.newValue(type));
    draft.instructions.push({ kernel, inputs, outputs: outputs.map((value) => value.id), params, nodes });
    return outputs;
  };
  const cast = (value: CpuValue, type: TensorType): CpuValue => {
    const [result] = push("cast", [value.id], [type], {});
    invariant(result, "a cast has a result");
    return result;
  };
  const instr: CpuEmitter["instr"] = (kernel, inputs, outputs, params = {}) => {
    const operands = inputs.map((value, i) => {
      if (value === undefined) return -1;
      return isHalf(value.type) && !takesAnyType(kernel, i) ? cast(value, like(value.type, "f32")).id : value.id;
    });
    const types = outputs.map((type, i) => (isHalf(type) && !writesAnyType(kernel, i) ? like(type, "f32") : type));
    const results = push(kernel, operands, types, params);
    return results.map((value, i) => {
      const wanted = outputs[i];
      return wanted !== undefined && wanted.dtype !== value.type.dtype ? cast(value, wanted) : value;
    });
  };
  return {
    instr,
    one: (kernel, inputs, output, params) => {
      const [result] = instr(kernel, inputs, [output], params);
      invariant(result, `[${kernel}] has a result`);
      return result;
    },
    view: (value, type) => draft.newValue(type, draft.bufferOf(value.id)),
    branch: (inputs, regions, outputs) => {
      const branches = [lowerRegion(scope, node, regions[0]), lowerRegion(scope, node, regions[1])];
      return emitBranch(draft, nodes, inputs, branches, outputs);
    },
    loop: (inputs, regions, { carried, maxIterations: most }) => {
      const [condition, body] = [lowerRegion(scope, node, regions[0]), lowerRegion(scope, node, regions[1])];
      return emitLoop(draft, nodes, inputs, { carried, most, condition, body });
    },
    scan: (inputs, regions, { carried, scanned, length, reverse }, outputs) => {
      const body = lowerRegion(scope, node, regions[0]);
      return emitScan(draft, nodes, inputs, outputs, { carried, scanned, length, reverse, body });
    },
  };
}

/**
 * Assigns memory: in-place results share their operand's; next states are copied at the end;
 * outputs outlive the run.
 */
export function assignMemory(draft: PlanDraft): void {
  saveOldStates(draft);
  aliasInPlace(draft);
  copyStates(draft);
  keepOutputs(draft);
}

/** Outputs that are a state's old value are copied first: at the end the state's memory holds the next one. */
function saveOldStates(draft: PlanDraft): void {
  for (const output of draft.outputs) {
    const value = draft.valueAt(output.value);
    if (draft.kindOf(value.buffer).kind !== "state") continue;
    const saved = draft.newValue(value.type, draft.newBuffer({ kind: "own" }));
    draft.instructions.unshift({ kernel: "copy", inputs: [value.id], outputs: [saved.id], params: {}, nodes: [] });
    output.value = saved.id;
  }
}

function aliasInPlace(draft: PlanDraft): void {
  const uses = usesOf(draft);
  // Brought up to date as buffers become one: to look at all instructions again for each cache takes seconds for deep models.
  const lastReader = uses.readers.map((readers) => readers.at(-1) ?? -1);
  const kept = [...uses.kept];
  const copies = new Map<number, readonly DraftInstruction[]>();
  draft.instructions.forEach((instruction, at) => {
    let current = instruction;
    for (const pair of inPlace(instruction.kernel)) {
      const from = instruction.inputs[pair.input] ?? -1;
      const to = instruction.outputs[pair.output] ?? -1;
      if (from < 0 || to < 0) continue;
      const buffer = draft.bufferOf(from);
      const kind = draft.kindOf(buffer);
      const state = kind.kind === "state" ? draft.states.find((entry) => entry.name === kind.name) : undefined;
      // A state may be overwritten only by its own next value; a temporary by anyone; other memory never.
      const allowed =
        kind.kind === "temp" ||
        (state !== undefined && draft.bufferOf(state.next) === draft.bufferOf(to) && !passedOn(draft, buffer));
      const readLater = (lastReader[buffer] ?? -1) > at;
      const keptOtherwise = kind.kind === "temp" && kept[buffer] === true;
      if (allowed && !readLater && !keptOtherwise) {
        const gone = draft.bufferOf(to);
        lastReader[buffer] = Math.max(lastReader[buffer] ?? -1, lastReader[gone] ?? -1);
        kept[buffer] ||= kept[gone] === true;
        draft.rebase(to, buffer);
      } else if (instruction.kernel === "attention_block") {
        // The only kernel that cannot copy by itself.
        const copy = { kernel: "copy", inputs: [from], outputs: [to], params: {}, nodes: instruction.nodes } as const;
        copies.set(at, [...(copies.get(at) ?? []), copy]);
        draft.instructions[at] = current = { ...current, inputs: current.inputs.with(pair.input, to) };
      }
    }
  });
  if (copies.size > 0)
    draft.instructions = draft.instructions.flatMap((instruction, at) => [...(copies.get(at) ?? []), instruction]);
}

function copyStates(draft: PlanDraft): void {
  const copy = (from: number, to: number): void => {
    draft.instructions.push({ kernel: "copy", inputs: [from], outputs: [to], params: {}, nodes: [] });
  };
  const moved = draft.states.filter((state) => draft.bufferOf(state.next) !== draft.bufferOf(state.value));
  // A next state that is another state's old value is saved before any state is overwritten.
  const sources = moved.map((state) => {
    if (draft.kindOf(draft.bufferOf(state.next)).kind !== "state") return state.next;
    const saved = draft.newValue(draft.valueAt(state.next).type);
    copy(state.next, saved.id);
    return saved.id;
  });
  moved.forEach((state, i) => {
    copy(sources[i] ?? state.next, state.value);
    state.next = state.value;
  });
}

function keepOutputs(draft: PlanDraft): void {
  for (const output of draft.outputs) {
    const value = draft.valueAt(output.value);
    const kind = draft.kindOf(value.buffer);
    if (kind.kind === "temp") {
      draft.buffers[value.buffer] = { kind: "own" };
    } else if (kind.kind !== "own") {
      const copy = draft.newValue(value.type, draft.newBuffer({ kind: "own" }));
      draft.instructions.push({ kernel: "copy", inputs: [value.id], outputs: [copy.id], params: {}, nodes: [] });
      output.value = copy.id;
    }
  }
}
