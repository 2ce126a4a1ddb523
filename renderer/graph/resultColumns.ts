/**
 * Results about this model as columns over the nodes of a graph: the time of a profile, and the
 * error of each mapped weight. NaN where nothing is known.
 */
import { sourceOf } from "../../main/contract/views/graph.ts";
import type { Truth } from "../../main/contract/views/common.ts";
import type { WeightRow } from "../../main/contract/views/export.ts";
import type { ProfileView } from "../../main/contract/views/run.ts";
import { median } from "../ui/median.ts";
import type { GraphModel } from "./graphModel.ts";
import { nodeName, producersOf } from "./graphModel.ts";

export interface ResultColumn {
  readonly values: Float32Array;
  /** 1 for each node whose number is a share of what was measured of several. */
  readonly attributed: Uint8Array;
  /** measured: every number is a clock's · attributed: some were shared out among the ops of one instruction. */
  readonly truth: Truth;
  /** Share of all that was measured which stands in the column. */
  readonly covered: number;
}

/**
 * Seconds of one step: the median of the tokens when writing, as in the profile's own table, the mean of the chunks when reading.
 * An instruction that computes several ops shares its time among them by the bytes that they read.
 */
export function measuredColumn(model: GraphModel, profile: ProfileView, phase: "prefill" | "decode"): ResultColumn {
  const { view } = model;
  const values = new Float32Array(view.nodeCount).fill(Number.NaN);
  const { slices, steps } = profile;
  const decode = phase === "decode" ? 1 : 0;
  const own = [...steps.decode.keys()].filter((step) => steps.decode[step] === decode);
  const places = new Map(own.map((step, place) => [step, place]));
  const times = new Map<number, number[]>();
  const nodesOf = nodesBySource(model);
  const bytes = view.nodes.bytesRead;
  const attributed = new Uint8Array(view.nodeCount);
  let [total, placed] = [0, 0];
  for (let slice = 0; slice < slices.seconds.length; slice++) {
    const place = places.get(slices.step[slice] ?? 0);
    if (place === undefined) continue;
    const seconds = slices.seconds[slice] ?? 0;
    total += seconds;
    const nodes: number[] = [];
    for (let i = slices.nodeStart[slice] ?? 0; i < (slices.nodeStart[slice + 1] ?? 0); i++)
      for (const node of nodesOf.get(slices.nodes[i] ?? -1) ?? []) if (!nodes.includes(node)) nodes.push(node);
    if (nodes.length === 0) continue;
    placed += seconds;
    const weight = nodes.reduce((sum, node) => sum + (bytes[node] ?? 0), 0);
    for (const node of nodes) {
      if (nodes.length > 1) attributed[node] = 1;
      const share = weight > 0 ? (bytes[node] ?? 0) / weight : 1 / nodes.length;
      const series = times.get(node) ?? own.map(() => 0);
      series[place] = (series[place] ?? 0) + seconds * share;
      times.set(node, series);
    }
  }
  for (const [node, series] of times)
    values[node] =
      (phase === "decode" ? median(series) : undefined) ?? series.reduce((sum, x) => sum + x, 0) / own.length;
  const truth = attributed.includes(1) ? "attributed" : "measured";
  return { values, attributed, truth, covered: total > 0 ? placed / total : 0 };
}

function nodesBySource({ view, hidden }: GraphModel): ReadonlyMap<number, readonly number[]> {
  const found = new Map<number, number[]>();
  for (let node = 0; node < view.nodeCount; node++) {
    if (hidden[node] === 1) continue;
    const source = sourceOf(view.nodes.id[node] ?? 0);
    const list = found.get(source);
    if (list === undefined) found.set(source, [node]);
    else list.push(node);
  }
  return found;
}

/** RMS of a weight's difference over the RMS of the weight; an op has the largest of its weights. */
export function weightErrorColumn(model: GraphModel, rows: readonly WeightRow[]): ResultColumn {
  const errors = new Map(rows.map(({ name, relativeRms }) => [name, relativeRms]));
  const values = new Float32Array(model.view.nodeCount).fill(Number.NaN);
  const seen = new Set<string>();
  for (let node = 0; node < model.view.nodeCount; node++)
    for (const from of producersOf(model, node)) {
      const name = model.hidden[from] === 1 ? nodeName(model.view, from) : "";
      const error = errors.get(name);
      if (error === undefined) continue;
      seen.add(name);
      const known = values[node] ?? Number.NaN;
      values[node] = Number.isNaN(known) ? error : Math.max(known, error);
    }
  const attributed = new Uint8Array(model.view.nodeCount);
  return { values, attributed, truth: "exact", covered: rows.length === 0 ? 0 : seen.size / rows.length };
}
