/** A legalised graph becomes a draft of calls: each op's `mlx` entry emits them. */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Graph, Node, Value } from "../../ir/graph.ts";
import { valueKey } from "../../ir/graph.ts";
import type { MlxEmitter, MlxRules, MlxValue } from "./emitter.ts";
import type { WeightPlace } from "./draft.ts";
import { MlxDraft } from "./draft.ts";

/** Where a param's bytes are. `file` is the param's source identity. */
export type LocateWeight = (file: string, tensor: string) => WeightPlace;

export function lower(graph: Graph, rules: MlxRules, locate: LocateWeight): MlxDraft {
  const draft = new MlxDraft();
  const lowered = new Map<string, MlxValue>();
  const valueOf = (value: Value): MlxValue => {
    const found = lowered.get(valueKey(value));
    invariant(found, `value ${valueKey(value)} is read before it is made`);
    return found;
  };
  for (const node of graph.nodes) {
    const results = lowerNode(draft, graph, node, rules, locate, valueOf);
    invariant(
      results.length === node.outputs.length,
      `[${node.op}] emitted ${results.length} values, expected ${node.outputs.length}`,
    );
    results.forEach((value, output) => lowered.set(valueKey({ node: node.id, output }), value));
  }
  for (const state of graph.states)
    draft.states.push({
      name: state.name,
      value: valueOf({ node: state.input, output: 0 }),
      next: valueOf(state.output),
    });
  for (const output of graph.outputs) draft.outputs.push({ name: output.name, value: valueOf(output.value) });
  return draft;
}

function lowerNode(
  draft: MlxDraft,
  graph: Graph,
  node: Node,
  rules: MlxRules,
  locate: LocateWeight,
  valueOf: (value: Value) => MlxValue,
): readonly MlxValue[] {
  const [type] = node.outputs;
  const name = String(node.attrs["name"]);
  switch (node.op) {
    case "input":
    case "state":
      invariant(type, "a leaf has a type");
      return [draft.addLeaf(type, { kind: node.op, name })];
    case "param": {
      invariant(type, "a param has a type");
      const tensor = String(node.attrs["tensor"]);
      const place = locate(String(node.attrs["file"]), tensor);
      return [draft.addLeaf(type, { kind: "weight", name: tensor, place })];
    }
    case "constant": {
      const data = graph.constants.get(String(node.attrs["data"]));
      invariant(type && data, `constant ${node.id} has no data`);
      return [draft.addLeaf(type, { kind: "constant", data })];
    }
    default: {
      const rule = rules(node.op);
      if (typeof rule === "string")
        throw new WorkbenchError("UNSUPPORTED_OP", `[mlx] ${node.op}: ${rule}`, {
          hint: "Legalise the graph for mlx first.",
        });
      const inputs = node.inputs.map(valueOf);
      const info = { inputs: inputs.map((value) => value.type), outputs: node.outputs, attrs: node.attrs };
      const result = rule.emit(emitterFor(draft, node.id), inputs, node.attrs, info);
      return Array.isArray(result) ? (result as readonly MlxValue[]) : [result as MlxValue];
    }
  }
}

function emitterFor(draft: MlxDraft, node: number): MlxEmitter {
  const call: MlxEmitter["call"] = (name, inputs, outputs, attrs = {}) =>
    draft.addCall(node, name, inputs, outputs, attrs);
  const one: MlxEmitter["one"] = (name, inputs, output, attrs) => {
    const [result] = call(name, inputs, [output], attrs);
    invariant(result, `[mlx] ${name} has a result`);
    return result;
  };
  return {
    call,
    one,
    append: (cache, fresh, past) => {
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
  const written = new Map(draft.appends.map((append) => [append.state, append.capacity]));
  const [first] = draft.appends;
  const symbol = first?.capacity;
  if (typeof symbol !== "string" || !/^[A-Za-z_]\w*$/.test(symbol)) return undefined;
  const names = (dims: readonly Dim[]): boolean => dims.some((dim) => typeof dim === "string" && mentions(dim, symbol));
  for (const { value, leaf } of draft.leaves) {
    if (!names(value.type.shape)) continue;
    const others = value.type.shape.filter((_, axis) => axis !== 1);
    if (leaf.kind !== "state" || written.get(leaf.name) !== symbol || names(others)) return undefined;
  }
  return symbol;
}

const mentions = (dim: string, symbol: string): boolean => dim.split(/\W+/).includes(symbol);
