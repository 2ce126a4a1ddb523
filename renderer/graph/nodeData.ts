/**
 * Numbers for the nodes of a graph, read from a file in the form of main/contract/nodeData.ts, with the outer
 * name or without it. A node is named by its id, its path ("blk.7/attention/q") or its name; a name that several nodes have is
 * about all of them. The file is untrusted: sizes are bounded, colours are read and never passed on.
 */
import { WorkbenchError } from "../../main/diagnostics/errors.ts";
import { heatColor } from "../../main/contract/heat.ts";
import { nodeKey, nodePath } from "../../main/contract/nodeData.ts";
import type { GraphModel } from "./graphModel.ts";
import { nodeName } from "./graphModel.ts";

export interface ColorStop {
  /** From 0, the least value, to 1, the greatest. */
  readonly stop: number;
  readonly rgb: readonly [number, number, number];
}

export interface NodeData {
  readonly name: string;
  readonly values: ReadonlyMap<string, number>;
  /** In ascending order; empty: the scale of the window. */
  readonly gradient: readonly ColorStop[];
  /** Entries whose value is not a finite number. */
  readonly skipped: number;
}

const MOST_LETTERS = 64e6;
const MOST_STOPS = 64;

export function parseNodeData(name: string, text: string): NodeData {
  const fail = (got: string, expected: string): never => {
    throw new WorkbenchError("INPUT_ARGUMENT", `[node data] ${name}: got ${got}, expected ${expected}`, {
      hint: 'Write {"results": {"<node>": {"value": 1.5}}}, with ids, paths or names of nodes. "Save node data" makes an example.',
    });
  };
  if (text.length > MOST_LETTERS) return fail(`${text.length} letters`, `at most ${MOST_LETTERS}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return fail("something else", "JSON");
  }
  const graph = graphIn(parsed) ?? fail("JSON without results", 'an object with "results"');
  const values = new Map<string, number>();
  let skipped = 0;
  for (const [node, entry] of Object.entries(graph.results)) {
    const value = isRecord(entry) ? entry["value"] : entry;
    if (typeof value === "number" && Number.isFinite(value)) values.set(node, value);
    else skipped += 1;
  }
  if (values.size === 0) return fail(`${skipped} values that are no numbers`, "at least one number");
  return { name, values, gradient: gradientOf(graph.gradient), skipped };
}

interface GraphNodeData {
  readonly results: { readonly [node: string]: unknown };
  readonly gradient: unknown;
}

/** The data of one graph: of the file itself, or of the first graph in it. */
function graphIn(value: unknown): GraphNodeData | null {
  if (!isRecord(value)) return null;
  for (const each of [value, ...Object.values(value)]) {
    if (!isRecord(each)) continue;
    const results = each["results"];
    if (isRecord(results)) return { results, gradient: each["gradient"] };
  }
  return null;
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function gradientOf(value: unknown): readonly ColorStop[] {
  if (!Array.isArray(value)) return [];
  const stops = value.slice(0, MOST_STOPS).flatMap((each): ColorStop[] => {
    if (!isRecord(each)) return [];
    const { stop, bgColor } = each;
    const rgb = typeof bgColor === "string" ? rgbOf(bgColor) : null;
    return typeof stop === "number" && stop >= 0 && stop <= 1 && rgb !== null ? [{ stop, rgb }] : [];
  });
  return stops.length < 2 ? [] : stops.sort((a, b) => a.stop - b.stop);
}

/** Of "#rrggbb" and "#rgb"; other words for colours are not read. */
function rgbOf(text: string): ColorStop["rgb"] | null {
  const [, long, short] = /^#(?:([0-9a-f]{6})|([0-9a-f]{3}))$/i.exec(text) ?? [];
  const digits = long ?? short?.replace(/./g, "$&$&");
  if (digits === undefined) return null;
  const number = Number.parseInt(digits, 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** The colour at a share of the way from the least value to the greatest. */
export function rampColor(gradient: readonly ColorStop[], share: number): string {
  const after = gradient.findIndex(({ stop }) => stop >= share);
  const high = gradient[after < 0 ? gradient.length - 1 : after];
  if (high === undefined) return heatColor(share);
  const low = gradient[(after < 0 ? gradient.length : after) - 1] ?? high;
  const between = high.stop > low.stop ? (share - low.stop) / (high.stop - low.stop) : 1;
  const at = Math.min(1, Math.max(0, between));
  const part = (i: 0 | 1 | 2): number => Math.round(low.rgb[i] + (high.rgb[i] - low.rgb[i]) * at);
  return `rgb(${part(0)} ${part(1)} ${part(2)})`;
}

export interface NodeDataColumn {
  /** NaN where the file says nothing. */
  readonly values: Float32Array;
  /** Entries of the file that name a node of this graph. */
  readonly known: number;
}

export function nodeDataColumn(model: GraphModel, { values }: NodeData): NodeDataColumn {
  const { view } = model;
  const column = new Float32Array(view.nodeCount).fill(Number.NaN);
  const seen = new Set<string>();
  for (let node = 0; node < view.nodeCount; node++) {
    if (model.hidden[node] === 1) continue;
    // The most exact name counts.
    const key = [nodeKey(view, node), nodePath(view, node), nodeName(view, node)].find((name) => values.has(name));
    if (key === undefined) continue;
    column[node] = values.get(key) ?? Number.NaN;
    seen.add(key);
  }
  return { values: column, known: seen.size };
}
