/** A comparison in words, the most important first: what a reader would want to be told before any table. */
import type { Comparison, CostlyDifference, OpDifference, SpeedRow } from "../../contract/views/compare.ts";
import { testWords } from "../../contract/benchText.ts";
import { forecastFor } from "../../contract/forecastFor.ts";
import type { Device } from "../../contract/views/common.ts";
import { secondsText } from "../measure/advice.ts";
import { bytesFigure } from "../measure/forecast.ts";
import { UNIT_NAMES } from "../measure/speed.ts";
import { counted } from "../words.ts";
import type { Limits } from "./decision.ts";
import { fileSentence, ratioRefusal, usableSentence } from "./decision.ts";

type Facts = Omit<Comparison, "sentences" | "equal"> & {
  /** What the heaviest difference is, for people: "the output matrix". */
  readonly heaviestPart: string | null;
  /** Seconds of a step that belong to no op, and how much more of them B has. */
  readonly around: { readonly overhead: number; readonly caches: number } | null;
  readonly limits: Limits;
};

const MOST_SENTENCES = 6;
/** Below it, two predictions say the same. */
const LEAST_RATIO = 1.02;

/** Six at most; where nothing differs, the one that says so. */
export function sentencesOf(facts: Facts): readonly string[] {
  const found = [
    usableSentence(facts, facts.limits),
    // What was measured outweighs what was predicted.
    speedSentence(facts),
    timeSentence(facts),
    fileSentence(facts),
    facts.same === "file" ? null : kindSentence(facts),
    wordsSentence(facts),
    typesSentence(facts),
    routingSentence(facts),
    tensorsSentence(facts),
    memorySentence(facts),
    graphSentence(facts),
    keysSentence(facts),
    refusalSentence(facts),
    facts.same === "file" ? kindSentence(facts) : null,
  ].filter((sentence) => sentence !== null);
  const shown = found.slice(0, MOST_SENTENCES);
  return isEqual(facts) ? [equalSentence(facts), ...shown].slice(0, MOST_SENTENCES) : shown;
}

/** Of what does not depend on a measurement. */
export function isEqual({ same, facts, keys, tensors, graph, routing, numbers, words }: Facts): boolean {
  return (
    same !== "header" &&
    facts.length + keys.rows.length + tensors.differing === 0 &&
    (graph === null || graph.added + graph.removed + graph.changed === 0) &&
    (routing === null || routing.moved === 0) &&
    numbers.every(({ better }) => better === null) &&
    (words === null || words.equal)
  );
}

function equalSentence({ same, a, tensors, keys, graph }: Facts): string {
  const parts = [
    ...(a.file === null ? [] : [`${counted(keys.same, "key")} and ${counted(tensors.same, "tensor")}`]),
    ...(graph === null ? [] : [`${counted(graph.same, "op")} with their devices and predicted times`]),
  ];
  const file = same === "file" ? "Both are the same file, on the same subject. " : "";
  return `${file}Nothing differs: ${parts.join(", ")} agree.`;
}

function kindSentence({ same, a, b, facts, tensors }: Facts): string | null {
  if (same === "file" && a.subjectTitle === b.subjectTitle && a.machine === b.machine) return null;
  if (same === "file") return "Both are the same file: what differs comes from the targets.";
  if (same === "header")
    return tensors.differing === 0
      ? "Both have the same header; the weights of one are not here, so nothing is said of them."
      : `Both have the same header and other weights: ${tensors.differing} of ${counted(tensors.differing + tensors.same, "tensor")} hold other numbers.`;
  const architecture = facts.find(({ label }) => label === "architecture");
  return architecture === undefined
    ? null
    : `They are of different architectures: A is ${architecture.a ?? "not named"}, B is ${architecture.b ?? "not named"}.`;
}

const rowOf = ({ numbers }: Pick<Comparison, "numbers">, label: string): Comparison["numbers"][number] | undefined =>
  numbers.find((row) => row.label === label);

const times = (ratio: number): string => `${Number(ratio.toPrecision(ratio >= 10 ? 3 : 2))} ×`;

/** "blocks 0–27", "block 3" */
const inBlocks = ({ blocks }: Pick<OpDifference, "blocks">): string =>
  blocks === "" ? "" : ` in block${/[–,]/u.test(blocks) ? "s" : ""} ${blocks}`;

const deviceName = (device: Device): string => (device === "none" ? "no device" : UNIT_NAMES[device]);

function timeSentence(facts: Facts): string | null {
  const { numbers, costs, heaviestPart, around, limits } = facts;
  // Both are of one kind, or their steps are not the same and the numbers say which is which.
  const step = facts.a.file === null && facts.b.file === null ? "run" : "token";
  const row = rowOf({ numbers }, step === "run" ? "A run" : "A token");
  if (row === undefined || row.a === null || row.b === null || row.a.value <= 0 || row.b.value <= 0) return null;
  const [a, b] = [row.a.value, row.b.value];
  const ratio = Math.max(a, b) / Math.min(a, b);
  if (ratio < LEAST_RATIO) return null;
  const [who, less, more] = b < a ? ["B", b, a] : ["A", a, b];
  const refusal = ratioRefusal(limits);
  const by = refusal === null ? `${times(ratio)} less time` : "less time";
  const head = `${who} is predicted to take ${by} for a ${step}, ~${secondsText(less)} instead of ~${secondsText(more)} (${forecastFor(facts)})`;
  if (refusal !== null) return `${head}. ${refusal}`;
  const [first] = costs;
  const sign = b < a ? -1 : 1;
  const gains = [
    { what: "less starting and handing over between devices", seconds: sign * (around?.overhead ?? 0) },
    { what: "caches that are copied less", seconds: sign * (around?.caches ?? 0) },
  ].sort((x, y) => y.seconds - x.seconds);
  const [most] = gains;
  const ofOps = costs.reduce((sum, row) => sum + sign * ((row.secondsB ?? 0) - (row.secondsA ?? 0)), 0);
  if (most !== undefined && most.seconds > ofOps && most.seconds > (more - less) / 2)
    return `${head}: most of it is ${most.what}, ~${secondsText(most.seconds)}.`;
  return first === undefined ? `${head}.` : `${head}: ${whyOf(first, heaviestPart ?? first.op, who === "B")}.`;
}

/** "its output matrix is on the GPU and takes 9 ms less" */
function whyOf(row: CostlyDifference, part: string, bIsFaster: boolean): string {
  const { deviceA, deviceB, secondsA, secondsB, count } = row;
  const what = count === 1 ? part : `${row.name === "" ? row.op : row.name}${inBlocks(row)}`;
  const [own, other] = bIsFaster ? [deviceB, deviceA] : [deviceA, deviceB];
  const delta = bIsFaster ? (secondsA ?? 0) - (secondsB ?? 0) : (secondsB ?? 0) - (secondsA ?? 0);
  const by = delta >= 0 ? `~${secondsText(delta)} less` : `~${secondsText(-delta)} more, what else there is far less`;
  if (own !== other && own !== "none" && other !== "none")
    return `${what} is on the ${deviceName(own)} instead of the ${deviceName(other)}, ${by}`;
  return `the largest part is ${what}, ${by}`;
}

/** Which is faster here comes first; where nothing can be said of that, both numbers are still there. */
function speedSentence({ speed }: Facts): string | null {
  if (speed === null) return null;
  const row = speed.rows.find(({ test }) => test.startsWith("tg")) ?? speed.rows[0];
  if (row === undefined) return "The two benchmarks have no test in common.";
  const both = `${testWords(row.test)}, measured: A ${rateText(row.a.value)}, B ${rateText(row.b.value)}`;
  const faster = fasterWords(row);
  return faster === null ? `${both}. ${row.sentence}` : `${faster}. ${both}.`;
}

/** "A is 1.3 × as fast as B (95 % interval 1.2 to 1.4)"; null where no repeats show it. */
function fasterWords({ kind, ratio }: SpeedRow): string | null {
  if (ratio === null || (kind !== "faster" && kind !== "slower")) return null;
  const [who, other] = kind === "faster" ? ["B", "A"] : ["A", "B"];
  const { value, low, high } = kind === "faster" ? ratio : turned(ratio);
  return `${who} is ${value.toPrecision(3)} × as fast as ${other} (95 % interval ${low.toPrecision(3)} to ${high.toPrecision(3)})`;
}

const turned = ({ value, low, high }: NonNullable<SpeedRow["ratio"]>) => ({
  value: 1 / value,
  low: 1 / high,
  high: 1 / low,
});

const rateText = (rate: number): string => `${Number(rate.toPrecision(3))} t/s`;

const wordsSentence = ({ words }: Facts): string | null => words?.sentence ?? null;

function typesSentence({ tensors: { types } }: Facts): string | null {
  const [most, ...others] = types;
  if (most === undefined) return null;
  const bytes = types.reduce((sum, { bytesA, bytesB }) => sum + bytesB - bytesA, 0);
  const rest = others.reduce((sum, { tensors }) => sum + tensors, 0);
  const more = rest === 0 ? "" : `, and ${counted(rest, "other")} in another type`;
  const size = bytes === 0 ? "" : `: ${bytesFigure(Math.abs(bytes))} ${bytes > 0 ? "more" : "less"}`;
  return `B holds ${counted(most.tensors, "tensor")} in ${most.to} where A has ${most.from}${more}${size}.`;
}

function routingSentence({ routing }: Facts): string | null {
  if (routing === null) return null;
  const { a, b, moved, rows } = routing;
  const parts: string[] = [];
  const [most] = rows;
  if (most !== undefined) {
    const ops = moved === 1 ? "1 op runs" : `${moved} ops run`;
    parts.push(
      `${ops} elsewhere in B, most of the work from the ${deviceName(most.from)} to the ${deviceName(most.to)}`,
    );
  }
  const counts = (word: string, before: number, after: number): void => {
    if (before !== after) parts.push(`${word} ${before} → ${after}`);
  };
  counts("hops", a.hops, b.hops);
  counts("segments", a.segments.length, b.segments.length);
  const ane = ({ devices }: typeof a): number =>
    Math.round(100 * (devices.find(({ device }) => device === "ane")?.share ?? 0));
  if (ane(a) !== ane(b)) parts.push(`Neural Engine ${ane(a)} % → ${ane(b)} % of the time`);
  if (parts.length === 0) return null;
  const text = parts.join(", ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function tensorsSentence({ same, tensors: { rows, more } }: Facts): string | null {
  if (same === "header") return null;
  const count = (of: (row: (typeof rows)[number]) => boolean): number => rows.filter(of).length;
  const added = count(({ a }) => a === null);
  const removed = count(({ b }) => b === null);
  const shapes = count(({ a, b }) => a !== null && b !== null && a.shape.join() !== b.shape.join());
  const numbers = count((row) => row.numbers === "other");
  const parts = [
    ...(added === 0 ? [] : [`B has ${counted(added, "tensor")} that A has not`]),
    ...(removed === 0 ? [] : [`A has ${counted(removed, "tensor")} that B has not`]),
    ...(shapes === 0 ? [] : [`${counted(shapes, "tensor")} ${shapes === 1 ? "has" : "have"} another shape`]),
    ...(numbers === 0
      ? []
      : [`${counted(numbers, "tensor")} of one type ${numbers === 1 ? "holds" : "hold"} other numbers`]),
  ];
  if (parts.length === 0) return null;
  return `${parts.join(", ")}${more === 0 ? "" : `; of the first ${rows.length} that differ`}.`;
}

function memorySentence({ numbers }: Facts): string | null {
  const row = rowOf({ numbers }, "Memory");
  if (row === undefined || row.a === null || row.b === null) return null;
  const [a, b] = [row.a.value, row.b.value];
  const ratio = Math.max(a, b) / Math.max(1, Math.min(a, b));
  if (ratio < LEAST_RATIO) return null;
  return `B needs ${bytesFigure(b)} of memory, A ${bytesFigure(a)}.`;
}

function graphSentence({ graph }: Facts): string | null {
  if (graph === null) return null;
  const { added, removed, changed } = graph;
  const [first, ...others] = [
    { count: added, done: "added" },
    { count: removed, done: "removed" },
    { count: changed, done: "changed" },
  ].filter(({ count }) => count > 0);
  if (first === undefined) return null;
  const parts = [`${counted(first.count, "op")} ${first.done}`, ...others.map(({ count, done }) => `${count} ${done}`)];
  const same = graph.same === 0 ? "none stays" : graph.same === 1 ? "1 stays" : `${graph.same} stay`;
  return `From A's graph to B's: ${parts.join(", ")}; ${same} the same.`;
}

/** Names of keys in a sentence. */
const MOST_KEYS = 3;

function keysSentence({ keys: { rows, more } }: Facts): string | null {
  const all = rows.length + more;
  if (all === 0) return null;
  const named = rows.slice(0, MOST_KEYS).map(({ key }) => key);
  const rest = all - named.length;
  return `${all === 1 ? "1 key differs" : `${all} keys differ`}: ${named.join(", ")}${rest === 0 ? "" : ` and ${rest} more`}.`;
}

function refusalSentence({ a, b, limits }: Facts): string | null {
  // Why a side does not run was said first.
  const parts = [
    ...(a.refusal === null || a.refusal === limits.a.cannot ? [] : [`A: ${a.refusal}`]),
    ...(b.refusal === null || b.refusal === limits.b.cannot ? [] : [`B: ${b.refusal}`]),
  ];
  return parts.length === 0 ? null : `Graphs and numbers are not compared. ${parts.join(" ")}`;
}
