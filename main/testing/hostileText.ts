/** Damages texts of graphs, and reads what comes out. */
import type { ErrorCode } from "../diagnostics/codes.ts";
import { graphHash } from "../ir/hash.ts";
import type { OpTable } from "../ir/opTable.ts";
import { readGraph } from "../ir/text/build.ts";
import { formatText } from "../ir/text/format.ts";
import { printWhole } from "../ir/text/print.ts";
import { opTable } from "../ops/index.ts";
import { caches, nest } from "./controlGraphs.ts";
import { seededRandom } from "./random.ts";
import { randomCase } from "./randomGraphs.ts";
import { tinyModel } from "./tinyModels.ts";

const WORDS = [
  ...["%", "%3", "{", "}", "(", ")", '"', "[", "]", ",", "=", "@", "|", "#0", "\n", "\\u0000", "\u0000", "//"],
  ...["nan", "1e999", "-", "-inf", "all 1", "graph", "none", "by", "next", "return", "limit T = -1", "inputs %0"],
  ...["f32[9999999999,9999999999]", "T*T*T*T", "q4_k", "2147483648", "-1", "0", '["N", 1]', "true"],
];

/** Small graphs of every kind, and a decoder. */
export const hostileTexts = (): readonly string[] => [
  printWhole(nest(2, 3)),
  printWhole(caches()),
  ...Array.from({ length: 12 }, (_, seed) => printWhole(randomCase(seed).graph)),
  printWhole(tinyModel("llama", 1)),
];

export interface TextAttack {
  /** An error that is none of ours, a run of over a second, or a graph that is not read back. */
  readonly fault: string | undefined;
  readonly end: ErrorCode | "graph";
}

export function attackText(table: OpTable, texts: readonly string[], seed: number): TextAttack {
  const random = seededRandom(seed);
  const words = [...WORDS, ...opTable.names];
  let text = random.pick(texts);
  for (let i = 0; i <= random.integer(3); i++) {
    const at = random.integer(text.length);
    const end = at + random.integer(12);
    text = text.slice(0, at) + (random.integer(2) === 0 ? random.pick(words) : "") + text.slice(end);
  }
  const start = process.cpuUsage();
  const { graph, diagnostics } = readGraph(table, text);
  formatText(text);
  const { user, system } = process.cpuUsage(start);
  const milliseconds = (user + system) / 1000;
  const [first] = diagnostics;
  const bug = diagnostics.find(({ code }) => code.startsWith("BUG_"));
  const end = first?.code ?? "graph";
  if (bug !== undefined) return { end, fault: `seed ${seed}: ${bug.message}` };
  if (milliseconds > 1000) return { end, fault: `seed ${seed}: took ${Math.round(milliseconds)} ms` };
  if ((graph === undefined) === (first === undefined)) return { end, fault: `seed ${seed}: neither graph nor fault` };
  if (graph === undefined) return { end, fault: undefined };
  const back = readGraph(table, printWhole(graph)).graph;
  const isSame = back !== undefined && graphHash(back) === graphHash(graph);
  return { end, fault: isSame ? undefined : `seed ${seed}: not read back` };
}
