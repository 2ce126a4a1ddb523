/**
 * What a graph needs beside its weights: every value lives from the node that makes it to the last that reads it, and
 * values that do not live together share a place (best fit). Views take their operand's place. Sizes are those of the
 * bindings, or of the symbols' limits. Backends plan for themselves; this is the plan that can be had before any of them.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Bindings, Dim } from "../ir/dim.ts";
import { bindDim, dimSymbols } from "../ir/dim.ts";
import type { Graph, Node, Value } from "../ir/graph.ts";
import { isLeaf, valueKey } from "../ir/graph.ts";
import type { TensorType } from "../ir/type.ts";
import { byteLength } from "../ir/type.ts";
import { opTable } from "../ops/index.ts";

export interface Placement {
  /** The output after the last of a node with sub-graphs: what those need while they run. */
  readonly value: Value;
  readonly bytes: number;
  readonly offset: number;
  /** Node that makes it, and the last that reads it (the number of nodes for results). */
  readonly from: number;
  readonly to: number;
}

export interface GraphMemory {
  readonly arenaBytes: number;
  /** Side by side, without sharing. */
  readonly unsharedBytes: number;
  readonly stateBytes: number;
  readonly weightBytes: number;
  readonly constantBytes: number;
  readonly inputBytes: number;
  readonly placements: readonly Placement[];
}

export const ALIGNMENT = 64;

function sizeOf(type: TensorType, bindings: Bindings): number {
  const bytes: Dim = bindDim(byteLength(type), bindings);
  if (typeof bytes === "number") return bytes;
  throw new WorkbenchError("IR_SHAPE", `[memory] no size for ${dimSymbols(bytes).join(", ")}`, {
    hint: "Give the symbol a limit, or bind it.",
  });
}

interface Life {
  readonly value: Value;
  readonly bytes: number;
  readonly from: number;
  to: number;
}

/**
 * What the sub-graphs of a node need while it runs: one of them at a time. A loop holds the values of two turns, those that it
 * leaves behind and those that it makes.
 */
function workspaceOf(node: Node, bindings: Bindings): number {
  return node.regions.reduce((most, region) => {
    const { arenaBytes, constantBytes } = planGraphMemory(region, bindings);
    return Math.max(most, arenaBytes + constantBytes);
  }, 0);
}

/** The value whose place a view shares: its first operand's. */
function isView(node: Node): boolean {
  return opTable.get(node.op)?.traits.includes("view") === true;
}

function livesOf(graph: Graph, bindings: Bindings): readonly Life[] {
  const lives = new Map<string, Life>();
  const home = new Map<string, string>();
  const homeOf = (value: Value): string => home.get(valueKey(value)) ?? valueKey(value);
  for (const node of graph.nodes) {
    for (const input of node.inputs) {
      const life = lives.get(homeOf(input));
      if (life) life.to = node.id;
    }
    if (isLeaf(node)) continue;
    const workspace = workspaceOf(node, bindings);
    if (workspace > 0) {
      const value: Value = { node: node.id, output: node.outputs.length };
      const bytes = Math.ceil(workspace / ALIGNMENT) * ALIGNMENT;
      lives.set(valueKey(value), { value, bytes, from: node.id, to: node.id });
    }
    const [viewed] = node.inputs;
    node.outputs.forEach((type, output) => {
      const value: Value = { node: node.id, output };
      if (viewed && isView(node)) home.set(valueKey(value), homeOf(viewed));
      else {
        const bytes = Math.ceil(sizeOf(type, bindings) / ALIGNMENT) * ALIGNMENT;
        lives.set(valueKey(value), { value, bytes, from: node.id, to: node.id });
      }
    });
  }
  // A state that is updated lives in the state's own memory.
  for (const state of graph.states) if (state.output.node !== state.input) lives.delete(homeOf(state.output));
  for (const output of graph.outputs) {
    const life = lives.get(homeOf(output.value));
    if (life) life.to = graph.nodes.length;
  }
  return [...lives.values()];
}

/** Free places in order of offset. */
class Arena {
  bytes = 0;
  #free: { offset: number; bytes: number }[] = [];

  take(bytes: number): number {
    let best = -1;
    this.#free.forEach((gap, i) => {
      if (gap.bytes >= bytes && (best < 0 || gap.bytes < (this.#free[best]?.bytes ?? 0))) best = i;
    });
    const gap = this.#free[best];
    if (gap) {
      const { offset } = gap;
      if (gap.bytes === bytes) this.#free.splice(best, 1);
      else this.#free[best] = { offset: offset + bytes, bytes: gap.bytes - bytes };
      return offset;
    }
    const last = this.#free.at(-1);
    const offset = last && last.offset + last.bytes === this.bytes ? last.offset : this.bytes;
    if (last && offset === last.offset) this.#free.pop();
    this.bytes = offset + bytes;
    return offset;
  }

  give(offset: number, bytes: number): void {
    const at = this.#free.findIndex((gap) => gap.offset > offset);
    this.#free.splice(at < 0 ? this.#free.length : at, 0, { offset, bytes });
    const merged: { offset: number; bytes: number }[] = [];
    for (const gap of this.#free) {
      const last = merged.at(-1);
      if (last && last.offset + last.bytes === gap.offset) last.bytes += gap.bytes;
      else merged.push({ ...gap });
    }
    this.#free = merged;
  }
}

export function planGraphMemory(graph: Graph, bindings: Bindings = {}): GraphMemory {
  const sizes: Bindings = { ...graph.symbolLimits, ...bindings };
  const lives = livesOf(graph, sizes).filter((life) => life.bytes > 0);
  const ending = new Map<number, Placement[]>();
  const arena = new Arena();
  const placements: Placement[] = [];
  let released = 0;
  for (const life of lives) {
    // What was read last by an earlier node is free; what this node reads is not.
    for (; released < life.from; released++)
      for (const done of ending.get(released) ?? []) arena.give(done.offset, done.bytes);
    const placement: Placement = { ...life, offset: arena.take(life.bytes) };
    placements.push(placement);
    const list = ending.get(life.to);
    if (list) list.push(placement);
    else ending.set(life.to, [placement]);
  }
  const leaves = (op: string): number =>
    graph.nodes
      .filter((node) => node.op === op)
      .reduce((sum, node) => sum + node.outputs.reduce((bytes, type) => bytes + sizeOf(type, sizes), 0), 0);
  return {
    arenaBytes: arena.bytes,
    unsharedBytes: lives.reduce((sum, life) => sum + life.bytes, 0),
    stateBytes: leaves("state"),
    weightBytes: leaves("param"),
    constantBytes: leaves("constant"),
    inputBytes: leaves("input"),
    placements,
  };
}
