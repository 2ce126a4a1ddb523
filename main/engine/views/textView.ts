/** Programs as text, page by page, each line tied to the node it belongs to; and the difference a pass makes. */
import { LEGAL, MOST_FOUND } from "../../contract/views/graph.ts";
import type { PassDiff, PassView, TextFound, TextPage } from "../../contract/views/graph.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { printLines } from "../../backends/coreml/mil/print.ts";
import type { Graph } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import { graphLines, nodeLines, printNode } from "../../ir/text/print.ts";
import type { PassRecord } from "../../passes/pipeline.ts";
import { figure } from "../measure/forecast.ts";
import { stableIds } from "./graphView.ts";

/** A line of a program and the node it belongs to, or -1. */
export interface Line {
  readonly text: string;
  readonly node: number;
}

export const irLines = (graph: Graph): readonly Line[] =>
  graphLines(graph).map(({ text, node = -1 }) => ({ text, node }));

/** The MIL of all Core ML functions; a line's node is a node of the whole graph. */
export function milLines(route: Route): readonly Line[] {
  const { lowered } = route;
  if (!lowered) return [{ text: "// nothing of this graph runs on Core ML", node: -1 }];
  const partOf = new Map([...route.functionNames].map(([part, name]) => [name, route.parts[part]]));
  return printLines(lowered.program).map(({ text, operation }) => {
    if (!operation) return { text, node: -1 };
    const [name, index] = operation;
    const own = lowered.functions.find((f) => f.mil.name === name)?.mil.operations[index]?.origins[0];
    return { text, node: own === undefined ? -1 : (partOf.get(name)?.origin[own] ?? -1) };
  });
}

export function textPage(
  language: TextPage["language"],
  title: string,
  lines: readonly Line[],
  asked: { readonly firstLine: number; readonly around: number | null },
  count: number,
): TextPage {
  const at = asked.around === null ? -1 : lines.findIndex(({ node }) => node === asked.around);
  const firstLine = at < 0 ? asked.firstLine : at - (at % count);
  const shown = lines.slice(firstLine, firstLine + count);
  return {
    language,
    title,
    totalLines: lines.length,
    firstLine,
    text: shown.map((line) => line.text).join("\n"),
    nodes: Int32Array.from(shown, (line) => line.node),
  };
}

/** Lines in which a text stands, in either case. */
export function foundIn(lines: readonly Line[], query: string): TextFound {
  const wanted = query.toLowerCase();
  const found: number[] = [];
  let total = 0;
  lines.forEach(({ text }, i) => {
    if (!text.toLowerCase().includes(wanted)) return;
    total++;
    if (found.length < MOST_FOUND) found.push(i);
  });
  return { total, lines: found };
}

/** The one count of a graph's operations. */
export const opCount = ({ nodes }: Graph): number => nodes.reduce((n, node) => (isLeaf(node) ? n : n + 1), 0);

export const passView = (record: PassRecord): PassView => ({
  name: record.name,
  reason: record.reason,
  changed: record.changed,
  opsBefore: opCount(record.before),
  opsAfter: opCount(record.after),
  time: figure(record.milliseconds / 1000, "seconds", "measured", "this run of the pass, once"),
  hits: record.hits,
  // What legalisation could not place is named in the graph after it.
  misses: record.misses
    .slice(0, 200)
    .map(({ node, where, why }) => ({ where, why, node: record.name === LEGAL ? null : node })),
});

/** Unchanged stretches longer than this are left out of a diff. */
const CONTEXT_LINES = 3;
/** A diff longer than this is cut: no reader follows a million lines. */
const MOST_LINES = 20_000;

/** `mark`: what the pass writes on nodes that it makes or changes. `previous`: the pass before it, if there is one. */
export function passDiff(
  record: PassRecord,
  { mark, previous }: { readonly mark: string; readonly previous: string | undefined },
  full: boolean,
): PassDiff {
  const before = numberless(record.before);
  const after = numberless(record.after);
  const [beforeSet, afterSet] = [countLines(before), countLines(after)];
  const cut = (
    lines: readonly string[],
    others: ReadonlyMap<string, number>,
  ): { readonly text: string; readonly elided: number } =>
    full
      ? { text: lines.slice(0, MOST_LINES).join("\n"), elided: Math.max(0, lines.length - MOST_LINES) }
      : elide(lines, others);
  const left = cut(before, afterSet);
  const right = cut(after, beforeSet);
  const idsBefore = stableIds(record.before);
  const idsAfter = stableIds(record.after);
  const [wasThere, isThere] = [new Set(idsBefore), new Set(idsAfter)];
  const changed = record.after.nodes.filter((node) => node.passes.includes(mark)).map((node) => idsAfter[node.id] ?? 0);
  return {
    pass: record.name,
    beforeTitle: previous === undefined ? "as built" : `after ${previous}`,
    afterTitle: `after ${record.name}`,
    before: left.text,
    after: right.text,
    elidedLines: left.elided + right.elided,
    addedIds: idsAfter.filter((id) => !wasThere.has(id)),
    removedIds: idsBefore.filter((id) => !isThere.has(id)),
    changedIds: Uint32Array.from(changed.filter((id) => wasThere.has(id))),
  };
}

/** Lines that do not change because numbers before them did: values are named by what they are, not by their place. */
function numberless(graph: Graph): string[] {
  const ids = stableIds(graph);
  const name = (node: number): string =>
    `%${(ids[node] ?? 0) >> 6}${((ids[node] ?? 0) & 63) === 0 ? "" : `_${(ids[node] ?? 0) & 63}`}`;
  return graph.nodes.flatMap((node) => [
    printNode(graph, node).replaceAll(/%(\d+)/g, (_whole, id: string) => name(Number(id))),
    // A sub-graph has numbers of its own.
    ...nodeLines(graph, node).slice(1),
  ]);
}

function countLines(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Keeps lines that the other side lacks, with a little around them. */
function elide(
  lines: readonly string[],
  others: ReadonlyMap<string, number>,
): { readonly text: string; readonly elided: number } {
  const keep = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (others.has(line)) return;
    for (let near = Math.max(0, i - CONTEXT_LINES); near <= Math.min(lines.length - 1, i + CONTEXT_LINES); near++)
      keep[near] = 1;
  });
  const shown: string[] = [];
  let skipped = 0;
  let elided = 0;
  const flush = (): void => {
    if (skipped > 0) shown.push(`… ${skipped} lines unchanged …`);
    elided += skipped;
    skipped = 0;
  };
  lines.forEach((line, i) => {
    if (keep[i] === 1 && shown.length < MOST_LINES) {
      flush();
      shown.push(line);
    } else skipped++;
  });
  flush();
  return { text: shown.join("\n"), elided };
}
