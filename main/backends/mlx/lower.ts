/** A legalised graph becomes a draft of calls: each op's `mlx` entry emits them. */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Graph, Node, Value } from "../../ir/graph.ts";
import { isMemoryParam } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import { lowerNodes } from "../../ir/lowerNodes.ts";
import { rewindOf } from "../../ir/rewind.ts";
import type { TensorType } from "../../ir/type.ts";
import type { LocateWeight } from "../../ir/weightPlace.ts";
import type { MlxEmitter, MlxRules, MlxValue } from "./emitter.ts";
import { MlxDraft } from "./draft.ts";

export function lower(graph: Graph, rules: MlxRules, locate: LocateWeight): MlxDraft {
  const draft = new MlxDraft();
  const constants = new Map<string, MlxValue>();
  const known = (hash: string, data: HostTensor): MlxValue => {
    const value =
      constants.get(hash) ?? draft.addLeaf({ dtype: data.dtype, shape: data.shape }, { kind: "constant", data });
    constants.set(hash, value);
    return value;
  };
  const valueOf = lowerAll(graph, { draft, rules, constant: known }, (node) => leafOf(draft, node, locate));
  for (const state of graph.states)
    draft.states.push({
      name: state.name,
      value: valueOf({ node: state.input, output: 0 }),
      next: valueOf(state.output),
    });
  for (const output of graph.outputs) draft.outputs.push({ name: output.name, value: valueOf(output.value) });
  return draft;
}

/** Where calls go, and where constants are: a sub-graph is handed those that it reads. */
interface Scope {
  readonly draft: MlxDraft;
  readonly rules: MlxRules;
  readonly constant: (hash: string, data: HostTensor) => MlxValue;
  /** In a sub-graph: the node of the graph itself that it belongs to. */
  readonly owner?: number;
}

/** `leaf` supplies values passed in; constants and computed values are handled here. */
const lowerAll = (
  graph: Graph,
  scope: Scope,
  leaf: (node: Node) => MlxValue | undefined,
): ((value: Value) => MlxValue) =>
  lowerNodes<MlxValue>(graph, (node, valueOf) => {
    const hash = String(node.attrs["data"]);
    const data = node.op === "constant" ? graph.constants.get(hash) : undefined;
    const given = data ? scope.constant(hash, data) : leaf(node);
    return given ? [given] : lowerNode(node, scope, valueOf);
  });

function leafOf(draft: MlxDraft, node: Node, locate: LocateWeight): MlxValue | undefined {
  const [type] = node.outputs;
  if (!type) return undefined;
  const name = String(node.attrs["name"]);
  if (node.op === "input") return draft.addLeaf(type, { kind: "input", name });
  if (node.op === "state") return draft.addLeaf(type, { kind: "state", name, rewind: rewindOf(node) });
  if (node.op !== "param") return undefined;
  if (isMemoryParam(node)) return draft.addLeaf(type, { kind: "input", name });
  const tensor = String(node.attrs["tensor"]);
  const place = locate(String(node.attrs["file"]), tensor);
  return draft.addLeaf(type, { kind: "weight", name: tensor, place });
}

function lowerNode(node: Node, scope: Scope, valueOf: (value: Value) => MlxValue): readonly MlxValue[] {
  const rule = scope.rules(node.op);
  if (typeof rule === "string")
    throw new WorkbenchError("UNSUPPORTED_OP", `[mlx] ${node.op}: ${rule}`, {
      hint: "Legalise the graph for mlx first.",
    });
  const inputs = node.inputs.map(valueOf);
  const { outputs, attrs, regions } = node;
  const info = { inputs: inputs.map((value) => value.type), outputs, attrs, regions };
  const result = rule.emit(emitterFor(scope, scope.owner ?? node.id), inputs, node.attrs, info);
  return Array.isArray(result) ? (result as readonly MlxValue[]) : [result as MlxValue];
}

/** All constants that sub-graphs read, those of their own sub-graphs too. */
function constantsIn(regions: readonly Graph[], found = new Map<string, HostTensor>()): Map<string, HostTensor> {
  for (const region of regions)
    for (const node of region.nodes) {
      const hash = String(node.attrs["data"]);
      const data = node.op === "constant" ? region.constants.get(hash) : undefined;
      if (data) found.set(hash, data);
      constantsIn(node.regions, found);
    }
  return found;
}

const typesOf = (values: readonly MlxValue[]): readonly TensorType[] => values.map(({ type }) => type);

/** Sub-graphs as bodies over the operands of their node, followed by the constants that any of them reads. */
function lowerRegions(
  scope: Scope,
  owner: number,
  regions: readonly Graph[],
  inputs: readonly TensorType[],
): { readonly bodies: readonly number[]; readonly constants: readonly MlxValue[] } {
  const { draft } = scope;
  const shared = constantsIn(regions);
  const hashes = [...shared.keys()];
  const constants = [...shared].map(([hash, data]) => scope.constant(hash, data));
  const types = [...inputs, ...constants.map((value) => value.type)];
  const bodies = regions.map((region) =>
    draft.inBody(types, (values) => {
      const constant = (hash: string): MlxValue => {
        const value = values[inputs.length + hashes.indexOf(hash)];
        invariant(value, `[mlx] ${region.name} was not handed a constant`);
        return value;
      };
      const valueOf = lowerAll(region, { ...scope, constant, owner }, (node) =>
        node.op === "input" ? values[region.inputs.indexOf(node.id)] : undefined,
      );
      return region.outputs.map((output) => valueOf(output.value));
    }),
  );
  return { bodies, constants };
}

function emitterFor(scope: Scope, node: number): MlxEmitter {
  const { draft } = scope;
  const call: MlxEmitter["call"] = (name, inputs, outputs, attrs = {}) =>
    draft.addCall(node, name, inputs, outputs, attrs);
  const one: MlxEmitter["one"] = (name, inputs, output, attrs) => {
    const [result] = call(name, inputs, [output], attrs);
    invariant(result, `[mlx] ${name} has a result`);
    return result;
  };
  const checkRing: MlxEmitter["checkRing"] = (cache, past, tokens, reach) => {
    const told = draft.leafOf(past);
    const capacity = cache.type.shape[1] ?? 0;
    if (told?.kind === "input") draft.appends.push({ past: told.name, tokens, capacity, state: undefined, reach });
  };
  return {
    call,
    one,
    branch: (inputs, regions, outputs) => {
      const { bodies, constants } = lowerRegions(scope, node, regions, typesOf(inputs.slice(1)));
      const [yes = 0, no = 0] = bodies;
      return call("if", [...inputs, ...constants], outputs, { yes, no });
    },
    loop: (inputs, regions, { carried, maxIterations }) => {
      const { bodies, constants } = lowerRegions(scope, node, regions, typesOf(inputs));
      const [condition = 0, body = 0] = bodies;
      const results = inputs.slice(0, carried).map((value) => value.type);
      const most = maxIterations === undefined ? {} : { most: maxIterations };
      return call("while", [...inputs, ...constants], results, { condition, body, carried, ...most });
    },
    scan: (inputs, regions, { carried, scanned, length, reverse }, outputs) => {
      const rowsAt = inputs.length - scanned;
      const turn = inputs.map(({ type }, i) => (i < rowsAt ? type : { dtype: type.dtype, shape: type.shape.slice(1) }));
      const { bodies, constants } = lowerRegions(scope, node, regions, turn);
      const [body = 0] = bodies;
      const attrs = { body, carried, rows: rowsAt, scanned, length, reverse };
      return call("scan", [...inputs, ...constants], outputs, attrs);
    },
    checkRing,
    append: (cache, fresh, past, ring) => {
      if (ring) {
        checkRing(cache, past, fresh.type.shape[0] ?? 0, 0);
        return one("append", [cache, fresh, past], cache.type, { ring });
      }
      const told = draft.leafOf(past);
      const [tokens = 0] = fresh.type.shape;
      const capacity = cache.type.shape[1] ?? 0;
      const checked = told?.kind === "input";
      if (checked) {
        const leaf = draft.leafOf(cache);
        draft.appends.push({
          past: told.name,
          tokens,
          capacity,
          state: leaf?.kind === "state" ? leaf.name : undefined,
        });
      }
      return one("append", [cache, fresh, past], cache.type, { checked });
    },
    checks: (indices, size) => {
      const leaf = draft.leafOf(indices);
      if (leaf?.kind !== "input" || typeof size !== "number" || indices.type.dtype !== "i32") return false;
      draft.limits.set(leaf.name, Math.min(size, draft.limits.get(leaf.name) ?? size));
      return true;
    },
  };
}

/**
 * The symbol that the length of all caches has, where caches can grow as they fill: only states have it, each at its position
 * axis, and each is appended to by what an input says. Otherwise caches have their full length from the start.
 */
export function growingSymbol(draft: MlxDraft): string | undefined {
  const whole = draft.appends.filter(({ reach }) => reach === undefined);
  const written = new Map(whole.map((append) => [append.state, append.capacity]));
  const [first] = whole;
  const symbol = first?.capacity;
  if (typeof symbol !== "string" || !/^[A-Za-z_]\w*$/.test(symbol)) return undefined;
  const names = (dims: readonly Dim[]): boolean => dims.some((dim) => typeof dim === "string" && mentions(dim, symbol));
  for (const { value, leaf } of draft.leaves) {
    if (!names(value.type.shape)) continue;
    const others = value.type.shape.filter((_, axis) => axis !== 1);
    if (leaf.kind !== "state" || leaf.rewind !== "positions" || written.get(leaf.name) !== symbol || names(others))
      return undefined;
  }
  return symbol;
}

const mentions = (dim: string, symbol: string): boolean => dim.split(/\W+/).includes(symbol);
