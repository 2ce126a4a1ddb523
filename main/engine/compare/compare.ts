/**
 * Two open models on their subjects, compared in steps that can be told: files, graphs, routes, numbers, words. Everything
 * predicted comes from where the window has it: verdict and route of each side.
 */
import type { ComparedGraphs } from "../../compare/graphs.ts";
import { compareGraphs } from "../../compare/graphs.ts";
import type { ComparedFiles } from "../../compare/files.ts";
import { compareFiles } from "../../compare/files.ts";
import type { View } from "../../contract/define.ts";
import type {
  compareInput,
  ComparedAnswer,
  ComparedSide,
  Comparison,
  RouteBrief,
} from "../../contract/views/compare.ts";
import { MOST_ROWS } from "../../contract/views/compare.ts";
import type { Phase } from "../../contract/views/common.ts";
import type { Subject, Verdict } from "../../contract/views/cost.ts";
import type { Overview } from "../../contract/views/model.ts";
import type { RouteView } from "../../contract/views/route.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { partName } from "../measure/verdict.ts";
import { planTarget } from "../models/routes.ts";
import { subjectTitle } from "../measure/subjectWords.ts";
import type { OpenModel } from "../models/openModel.ts";
import { inSlices } from "../models/taskCache.ts";
import { counted } from "../words.ts";
import { limitsOf } from "./decision.ts";
import type { SideNumbers } from "./numbers.ts";
import { numberRows, speedOf } from "./numbers.ts";
import type { RoutedPair } from "./opRows.ts";
import { costRows, differenceRows, movedRows } from "./opRows.ts";
import { isEqual, sentencesOf } from "./sentences.ts";

type Asked = View<typeof compareInput>;

/** What the engine knows of a model on a subject. */
export interface CompareParts {
  model(id: string): OpenModel;
  overview(model: string, subject: Subject): Promise<Overview>;
  verdict(model: string, subject: Subject, signal: AbortSignal): Promise<Verdict>;
  route(model: string, subject: Subject, phase: Phase, signal: AbortSignal): Promise<RouteView>;
  /** The legal graph of the subject, whose nodes the route counts. */
  graph(model: string, subject: Subject, phase: Phase, signal: AbortSignal): Promise<Graph>;
}

export type Tell = (step: "files" | "graphs" | "routes" | "words", sentence: string, fraction?: number) => void;

interface SideFacts extends SideNumbers {
  readonly open: OpenModel;
  readonly view: ComparedSide;
  readonly graph: Graph | null;
}

/** Differences of cost that are told. */
const MOST_COSTS = 60;

export async function compareModels(
  parts: CompareParts,
  asked: Asked,
  tell: Tell,
  signal: AbortSignal,
): Promise<Comparison> {
  const { phase } = asked;
  tell("routes", "Predicting A");
  const a = await sideOf(parts, asked.a, phase, signal);
  tell("routes", "Predicting B");
  const b = await sideOf(parts, asked.b, phase, signal);
  tell("files", "Comparing keys and tensors");
  const files = await filesOf(a.open, b.open, {
    signal,
    onProgress: (fraction) => tell("files", "Comparing keys and tensors", fraction),
  });
  tell("graphs", "Comparing graphs");
  const routed = routedPair(a, b);
  const graphs = routed === null ? null : compareGraphs(routed.a.graph, routed.b.graph);
  signal.throwIfAborted();
  const costs = routed === null || graphs === null ? [] : costRows(graphs, routed).slice(0, MOST_COSTS);
  if (asked.answers !== null) tell("words", "Comparing words");
  const words = asked.answers === null ? null : await wordsOf(a.open, asked.answers, signal);
  const [first] = costs;
  const limits = { a: limitsOf(a), b: limitsOf(b) };
  const facts = {
    ...{ a: a.view, b: b.view, phase },
    same: a.open.id === b.open.id ? ("file" as const) : (files?.same ?? "no"),
    facts: changedFacts(a.overview, b.overview),
    ...filesView(files),
    graph: graphs === null ? null : graphView(graphs),
    routing: routed === null || graphs === null ? null : routingView(graphs, routed),
    numbers: [...numberRows(a, b)],
    costs,
    speed: asked.speed === null ? null : speedOf(asked.speed),
    words,
    heaviestPart: routed === null || first === undefined ? null : partOf(routed, first),
    // Of a step of the phase; the sentence is about a token.
    around: routed === null || phase !== "decode" ? null : aroundOf(routed),
    limits,
  };
  const { heaviestPart: _, around: __, limits: ___, ...shown } = facts;
  return { ...shown, sentences: [...sentencesOf(facts)], equal: isEqual(facts) };
}

async function sideOf(
  parts: CompareParts,
  { model, subject }: Asked["a"],
  phase: Phase,
  signal: AbortSignal,
): Promise<SideFacts> {
  const open = parts.model(model);
  const overview = await parts.overview(model, subject);
  const { title, variant, file } = overview;
  const view = {
    ...{ title, variant, subject },
    subjectTitle: subjectTitle(subject),
    file: file === null ? null : { name: file.name, bytes: file.bytes, headerHash: file.headerHash },
  };
  const without = (refusal: string, verdict: SideFacts["verdict"] = null): SideFacts => ({
    ...{ open, overview, verdict },
    ...{ route: null, graph: null },
    view: { ...view, machine: "", refusal },
  });
  if (!overview.canGraph.ok) return without(overview.canGraph.sentence);
  const { own } = await parts.verdict(model, subject, signal);
  try {
    const route = await parts.route(model, subject, phase, signal);
    const graph = await parts.graph(model, subject, phase, signal);
    const { context } = planTarget(open, subject.target, phase);
    const planned = { ...view, subject: { ...subject, target: { ...subject.target, context } } };
    return { open, overview, verdict: own, route, graph, view: { ...planned, machine: route.machine, refusal: null } };
  } catch (error) {
    if (!(error instanceof WorkbenchError) || error.code === "CANCELLED" || error.code.startsWith("BUG_")) throw error;
    return without(error.message.replace(/^\[[^\]]*\] /u, ""), own);
  }
}

/** Null where one of them has no file. */
async function filesOf(
  a: OpenModel,
  b: OpenModel,
  options: { readonly signal: AbortSignal; readonly onProgress: (fraction: number) => void },
): Promise<ComparedFiles | null> {
  if (a.file === undefined || b.file === undefined) return null;
  // A dropped file's data is in a window that may not answer: of such a one the header is compared.
  const readNumbers = a.data.kind !== "remote" && b.data.kind !== "remote";
  return compareFiles(a.file, b.file, { ...options, readNumbers });
}

function filesView(files: ComparedFiles | null): Pick<Comparison, "keys" | "tensors"> {
  const { keys, tensors } = files ?? { keys: { same: 0, rows: [] }, tensors: { same: 0, rows: [] } };
  const shown = tensors.rows.slice(0, MOST_ROWS);
  return {
    keys: { same: keys.same, rows: keys.rows.slice(0, MOST_ROWS), more: Math.max(0, keys.rows.length - MOST_ROWS) },
    tensors: {
      same: tensors.same,
      differing: tensors.rows.length,
      rows: shown.map((row) => ({
        ...row,
        a: row.a && { ...row.a, shape: [...row.a.shape] },
        b: row.b && { ...row.b, shape: [...row.b.shape] },
      })),
      more: tensors.rows.length - shown.length,
      types: typeChanges(tensors.rows),
    },
  };
}

/** The change that moves most bytes first. */
function typeChanges(rows: ComparedFiles["tensors"]["rows"]): Comparison["tensors"]["types"] {
  const changes = new Map<string, { from: string; to: string; tensors: number; bytesA: number; bytesB: number }>();
  for (const { a, b } of rows) {
    if (a === null || b === null || a.type === b.type || a.shape.join() !== b.shape.join()) continue;
    const key = `${a.type} ${b.type}`;
    const change = changes.get(key) ?? { from: a.type, to: b.type, tensors: 0, bytesA: 0, bytesB: 0 };
    changes.set(key, change);
    change.tensors++;
    change.bytesA += a.bytes;
    change.bytesB += b.bytes;
  }
  const moved = ({ bytesA, bytesB }: { readonly bytesA: number; readonly bytesB: number }): number =>
    Math.abs(bytesB - bytesA);
  return [...changes.values()].sort((x, y) => moved(y) - moved(x));
}

function changedFacts(a: Overview, b: Overview): Comparison["facts"] {
  const of = ({ architecture, facts }: Overview): ReadonlyMap<string, string> =>
    new Map([["architecture", architecture], ...facts.map(({ label, value }) => [label, value] as const)]);
  const [mine, other] = [of(a), of(b)];
  return [...new Set([...mine.keys(), ...other.keys()])]
    .filter((label) => mine.get(label) !== other.get(label))
    .map((label) => ({ label, a: mine.get(label) ?? null, b: other.get(label) ?? null }));
}

const routedPair = (a: SideFacts, b: SideFacts): RoutedPair | null =>
  a.graph === null || b.graph === null || a.route === null || b.route === null
    ? null
    : { a: { graph: a.graph, route: a.route }, b: { graph: b.graph, route: b.route } };

function graphView(graphs: ComparedGraphs): Comparison["graph"] {
  const rows = differenceRows(graphs);
  const count = (kind: "added" | "removed" | "changed"): number => graphs.ops.filter((op) => op.kind === kind).length;
  return {
    same: graphs.same,
    ...{ added: count("added"), removed: count("removed"), changed: count("changed") },
    rows: rows.slice(0, MOST_ROWS),
    more: Math.max(0, rows.length - MOST_ROWS),
  };
}

function routingView(graphs: ComparedGraphs, routed: RoutedPair): Comparison["routing"] {
  const rows = movedRows(graphs, routed);
  return {
    ...{ a: briefOf(routed.a.route), b: briefOf(routed.b.route) },
    moved: rows.reduce((sum, { count }) => sum + count, 0),
    rows: rows.slice(0, MOST_ROWS),
    more: Math.max(0, rows.length - MOST_ROWS),
  };
}

export const briefOf = ({ runs, segments, devices, hops, cacheSeconds, step, sentence }: RouteView): RouteBrief => ({
  runs,
  segments: segments.map(({ device, ops, seconds, why }) => ({ device, ops, seconds: seconds.value, why })),
  devices: devices.map(({ device, ops, seconds, workShare }) => ({
    device,
    ops,
    seconds: seconds.value,
    share: workShare,
  })),
  hops: hops.length,
  handing: hops.map(({ toSegment, seconds }) => ({ toSegment, seconds: seconds.value })),
  cacheSeconds: cacheSeconds.value,
  step: step.value,
  sentence,
});

const aroundOf = ({ a: { route: a }, b: { route: b } }: RoutedPair) => ({
  overhead: b.overhead.value - a.overhead.value,
  caches: b.cacheSeconds.value - a.cacheSeconds.value,
});

function partOf({ a, b }: RoutedPair, row: Comparison["costs"][number]): string | null {
  const [graph, id] = row.b === null ? [a.graph, row.a] : [b.graph, row.b];
  const node = id === null ? undefined : graph.nodes[id];
  return node === undefined ? null : partName(graph, node);
}

/** Where the answers part, in the tokens of A's model: words of one model may be other tokens of another. */
async function wordsOf(
  model: OpenModel,
  { a, b }: { readonly a: ComparedAnswer; readonly b: ComparedAnswer },
  signal: AbortSignal,
): Promise<Comparison["words"]> {
  const common = { names: { a: a.name, b: b.name }, samePrompt: a.prompt === b.prompt };
  const other = common.samePrompt ? "" : " Their prompts differ.";
  if (a.text === b.text)
    return { ...common, sameTokens: null, equal: true, sentence: `The answers are the same.${other}` };
  const at = await firstDifference(model, a.text, b.text, signal);
  const where =
    at === null
      ? ""
      : at === 0
        ? " from their first token on"
        : ` at token ${at + 1}, after ${counted(at, "token")} that are the same`;
  return { ...common, sameTokens: at, equal: false, sentence: `The answers diverge${where}.${other}` };
}

async function firstDifference(model: OpenModel, a: string, b: string, signal: AbortSignal): Promise<number | null> {
  if (model.file === undefined || model.description.tokenizer === undefined) return null;
  try {
    const { tokenizer } = model;
    const encode = (text: string) => inSlices(tokenizer.encodeSteps(text, { addSpecial: false }), signal);
    const [left, right] = [await encode(a), await encode(b)];
    const common = Math.min(left.length, right.length);
    for (let i = 0; i < common; i++) if (left[i] !== right[i]) return i;
    return common;
  } catch (error) {
    // A tokenizer that is not supported here: the words are compared without it.
    if (error instanceof WorkbenchError && error.code.startsWith("UNSUPPORTED_")) return null;
    throw error;
  }
}
