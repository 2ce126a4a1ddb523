/**
 * Search over the nodes: each word must occur in op, kind, name, type of the weight or a group's name; facets narrow it down:
 *   op:linear   kind:norm   dev:gpu   dtype:q4_k   layer:7   cost>1   (per cent of the work, with or without %)
 * Strings are matched once each, nodes by their string numbers, so ten thousand names take a few milliseconds.
 */
import type { Device } from "../../main/contract/views/common.ts";
import { deviceCode, DEVICES } from "../../main/contract/views/common.ts";
import type { GraphModel } from "./graphModel.ts";
import { childrenOf, displayName, groupKind, isGroup } from "./graphModel.ts";
import { OP_KINDS } from "./opKinds.ts";

export interface SearchQuery {
  readonly words: readonly string[];
  readonly ops: readonly string[];
  readonly kinds: readonly string[];
  readonly devices: readonly string[];
  readonly types: readonly string[];
  readonly layers: readonly number[];
  readonly minCost: number | null;
  /** A wrong facet and what was expected; the search then finds nothing. */
  readonly fault: string | null;
}

const FACETS = "op:, kind:, dev:, dtype:, layer: or cost>";

export function parseQuery(text: string): SearchQuery {
  const query = {
    words: [] as string[],
    ops: [] as string[],
    kinds: [] as string[],
    devices: [] as string[],
    types: [] as string[],
    layers: [] as number[],
    minCost: null as number | null,
    fault: null as string | null,
  };
  for (const token of text.toLowerCase().split(/\s+/)) {
    if (token === "") continue;
    const cost = /^cost>(\d+(?:\.\d+)?)%?$/.exec(token);
    const facet = /^(op|kind|dev|dtype|layer):(.+)$/.exec(token);
    if (cost !== null) query.minCost = Number(cost[1]) / 100;
    else if (token.startsWith("cost") && /[<>=:]/.test(token))
      query.fault ??= `${token}: expected a share of the work, as in cost>1%`;
    else if (facet === null && /^[a-z]+:/.test(token)) query.fault ??= `${token}: expected ${FACETS} and a value`;
    else if (facet === null) query.words.push(token);
    else {
      const [, name, value = ""] = facet;
      if (name === "op") query.ops.push(value);
      else if (name === "kind" && OP_KINDS.some((kind) => kind.startsWith(value))) query.kinds.push(value);
      else if (name === "kind") query.fault ??= `${token}: expected one of ${OP_KINDS.join(", ")}`;
      else if (name === "dev" && devicesNamed(value).length > 0) query.devices.push(value);
      else if (name === "dev") query.fault ??= `${token}: expected ane, gpu, cpu or host`;
      else if (name === "dtype") query.types.push(value);
      else if (/^\d+$/.test(value)) query.layers.push(Number(value));
      else query.fault ??= `${token}: expected a number, as in layer:7`;
    }
  }
  return query;
}

export const isEmptyQuery = ({ words, ops, kinds, devices, types, layers, minCost }: SearchQuery): boolean =>
  [words, ops, kinds, devices, types, layers].every(({ length }) => length === 0) && minCost === null;

export interface SearchColumns {
  readonly device: ArrayLike<number> | null;
  /** Share of the work per node. */
  readonly work: ArrayLike<number> | null;
}

/** Why nothing can be found, whatever the graph holds; null when the search is one. */
export function searchFault(query: SearchQuery, { device, work }: SearchColumns): string | null {
  if (query.fault !== null) return query.fault;
  if (query.devices.length > 0 && device === null) return "dev: needs the graph as it is placed for the target";
  return query.minCost !== null && work === null ? "cost> needs the graph as it is placed for the target" : null;
}

/** Matching nodes in program order. A parameter that matches stands for the ops that read it. */
export function searchNodes(model: GraphModel, query: SearchQuery, columns: SearchColumns): readonly number[] {
  if (isEmptyQuery(query) || searchFault(query, columns) !== null) return [];
  const { view } = model;
  // A block is found by either of its names.
  const lower = view.strings.map((text) => `${text} ${displayName(text)}`.toLowerCase());
  const wordHits = query.words.map((word) => lower.map((text) => text.includes(word)));
  const opHits = lower.map((text) => query.ops.length === 0 || query.ops.some((op) => text.includes(op)));
  const typeHits = lower.map((text) => query.types.length > 0 && query.types.some((type) => text.includes(type)));
  const kindHits = OP_KINDS.map((kind) => query.kinds.some((wanted) => kind.startsWith(wanted)));
  const kindWords = query.words.map((word) => OP_KINDS.map((kind) => kind.includes(word)));
  const groupHits = wordHits.map((hits) => groupsMatching(model, hits));
  const codes = new Set(query.devices.flatMap((name) => devicesNamed(name).map(deviceCode)));
  const layers = query.layers.length === 0 ? null : layerOfGroup(model);

  const matches = (node: number): boolean => {
    const group = view.nodes.group[node] ?? 0;
    const op = view.nodes.op[node] ?? 0;
    const name = view.nodes.name[node] ?? 0;
    const kind = model.kinds[node] ?? 0;
    const weight = view.nodes.weight[node] ?? 0;
    if (query.ops.length > 0 && opHits[op] !== true) return false;
    if (query.kinds.length > 0 && kindHits[kind] !== true) return false;
    if (query.types.length > 0 && typeHits[view.nodes.type[node] ?? 0] !== true && typeHits[weight] !== true)
      return false;
    if (query.devices.length > 0 && !codes.has(columns.device?.[node] ?? 0)) return false;
    if (query.minCost !== null && (columns.work?.[node] ?? 0) < query.minCost) return false;
    if (layers !== null && !query.layers.includes(layers[group] ?? -1)) return false;
    return wordHits.every(
      (hits, i) =>
        hits[op] === true ||
        hits[name] === true ||
        hits[weight] === true ||
        kindWords[i]?.[kind] === true ||
        groupHits[i]?.[group] === 1,
    );
  };

  const found = new Set<number>();
  for (let node = 0; node < view.nodeCount; node++) {
    if (!matches(node)) continue;
    if (model.hidden[node] === 0) found.add(node);
    else
      for (let c = model.consumerStart[node] ?? 0; c < (model.consumerStart[node + 1] ?? 0); c++)
        found.add(model.consumers[c] ?? 0);
  }
  return [...found].sort((a, b) => a - b);
}

function devicesNamed(name: string): readonly Device[] {
  return DEVICES.filter((device) => device.startsWith(name));
}

/** Groups whose own name matches, and all inside them: "block 7" finds what is in block 7. */
function groupsMatching(model: GraphModel, hits: readonly boolean[]): Uint8Array {
  const { parent, name } = model.view.groups;
  const matching = new Uint8Array(parent.length);
  const visit = (group: number, inside: boolean): void => {
    const own = inside || (group !== 0 && hits[name[group] ?? 0] === true);
    if (own) matching[group] = 1;
    for (const code of childrenOf(model, group)) if (isGroup(code)) visit(~code, own);
  };
  if (parent.length > 0) visit(0, false);
  return matching;
}

/** The ordinal of the block around each group, -1 outside of blocks. */
export function layerOfGroup(model: GraphModel): Int32Array {
  const layers = new Int32Array(model.view.groups.parent.length).fill(-1);
  const visit = (group: number, layer: number): void => {
    layers[group] = layer;
    let ordinal = 0;
    for (const code of childrenOf(model, group)) {
      if (!isGroup(code)) continue;
      const child = ~code;
      if (groupKind(model.view, group) === "repeat" && groupKind(model.view, child) === "block")
        visit(child, ordinal++);
      else visit(child, layer);
    }
  };
  if (layers.length > 0) visit(0, -1);
  return layers;
}
