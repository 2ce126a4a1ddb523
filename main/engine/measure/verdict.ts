/** The verdict in one line: how fast a subject would be, and what most of a token's time goes into. */
import type { Machine } from "../../compiler/cost/machines.ts";
import type { StepCost } from "../../compiler/cost/stepCost.ts";
import { deviceSeconds } from "../../compiler/cost/stepCost.ts";
import type { Device, Figure } from "../../contract/views/common.ts";
import { deviceOf } from "../../contract/views/common.ts";
import type { CostlyOp, SpeedView, Subject } from "../../contract/views/cost.ts";
import type { Graph, Node } from "../../ir/graph.ts";
import { isLeaf } from "../../ir/graph.ts";
import type { SubjectCost } from "../models/costs.ts";
import { secondsFigure, shareOf } from "./costFigures.ts";
import { bytesFigure, grouped } from "./forecast.ts";
import { UNIT_NAMES } from "./speed.ts";
import { withWhat } from "./subjectWords.ts";

/** "the output matrix"; of another op its weight, or its place. */
export function partName(graph: Graph, node: Node): string {
  const weights = node.inputs.flatMap(({ node: from }) => {
    const maker = graph.nodes[from];
    const name = maker?.op === "param" ? (maker.attrs["tensor"] ?? maker.attrs["name"]) : undefined;
    return typeof name === "string" ? [name] : [];
  });
  const [weight] = weights;
  if (weight !== undefined && node.op.startsWith("linear")) {
    if (/^(?:output|token_embd)\.weight$/u.test(weight)) return "the output matrix";
    const [, block, part] = /^blk\.(\d+)\.(\w+)\.weight$/u.exec(weight) ?? [];
    if (weights.length === 1 && part !== undefined) return `${part} of block ${block ?? ""}`;
  }
  const [origin] = node.origins;
  const place = origin?.scope.split("/")[0] ?? "";
  return place === "" ? node.op : `${node.op} in ${place}`;
}

/** The ops that take longest, the longest first. */
export function heaviestOps({ graph, cost, placement }: SubjectCost, most: number): readonly CostlyOp[] {
  const { value } = cost.nodes;
  const ids = graph.nodes.filter((node) => !isLeaf(node) && (value[node.id] ?? 0) > 0).map(({ id }) => id as number);
  ids.sort((a, b) => (value[b] ?? 0) - (value[a] ?? 0) || a - b);
  return ids.slice(0, most).flatMap((id): CostlyOp[] => {
    const node = graph.nodes[id];
    if (node === undefined) return [];
    const seconds = cost.nodes.at(id);
    const device: Device =
      placement === undefined ? (cost.segments[0]?.device ?? "none") : deviceOf(placement.device[id] ?? 0);
    return [
      {
        node: id,
        op: node.op,
        name: partName(graph, node),
        device,
        seconds: secondsFigure(seconds, "what it moves and computes on its device"),
        share: shareOf(seconds, cost),
      },
    ];
  });
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Two significant digits, which is more than a prediction knows. */
const rounded = (value: number): string => grouped(Number(value.toPrecision(2)));

/** "~48–81 t/s" */
function rateText({ value, low, high }: Figure): string {
  if (low === null || high === null) return `~${rounded(value)} t/s`;
  const [from, to] = [rounded(low), rounded(high)];
  return from === to ? `~${from} t/s` : `~${from}–${to} t/s`;
}

function stepText({ value, low, high }: Figure): string {
  const text = (seconds: number): string =>
    seconds >= 1 ? `${Number(seconds.toPrecision(2))} s` : `${Number((seconds * 1e3).toPrecision(2))} ms`;
  return low === null || high === null || text(low) === text(high)
    ? `~${text(value)}`
    : `~${text(low)} to ${text(high)}`;
}

/** What a token's time goes into: a share of it, and the words for that. */
interface Part {
  readonly share: number;
  readonly words: string;
  /** Where the part is one op. */
  readonly op?: CostlyOp;
}
/** A part that is worth its own words. */
const WORTH = 0.2;

/** "the output matrix on the CPU: it has 151 936 rows, the Neural Engine takes 65 536" */
function whyThere({ placement }: SubjectCost, op: CostlyOp): string {
  const verdict = placement?.verdicts[placement.verdict[op.node] ?? 0];
  // On the CPU by a rule that is not the target's own choice.
  const { device: unit } = op;
  if (verdict === undefined || unit !== "cpu" || verdict.rule === "units") return "";
  const [, rows, edge] = /^A dimension of (\d+) exceeds the (\d+)/u.exec(verdict.reason) ?? [];
  if (op.name === "the output matrix" && rows !== undefined && edge !== undefined)
    return `: it has ${grouped(Number(rows))} rows, the Neural Engine takes ${grouped(Number(edge))}`;
  const reason = verdict.reason.replace(/\.$/u, "");
  return reason === "" ? "" : `: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

/** One segment hands over to none. */
export const startingText = ({ hops }: Pick<StepCost, "hops">): string =>
  hops.length === 0 ? "starting ops" : "starting ops and handing over between devices";

/** The op that most of a step goes into, where the verdict says why it is on the CPU. */
export function namedOp(subject: SubjectCost): number | undefined {
  const { op } = largestPart(subject);
  return op !== undefined && whyThere(subject, op) !== "" ? op.node : undefined;
}

function largestPart(subject: SubjectCost): Part {
  const { cost } = subject;
  const [op] = heaviestOps(subject, 1);
  const parts: Part[] = [
    ...(op === undefined || op.device === "none"
      ? []
      : [
          {
            ...{ share: op.share, op },
            words: `${op.name} on the ${UNIT_NAMES[op.device]}${whyThere(subject, op)}`,
          },
        ]),
    {
      share: shareOf(cost.caches, cost),
      words: `copying ${bytesFigure(cost.cacheBytes)} of caches into and out of each call`,
    },
    { share: shareOf(cost.overhead, cost), words: startingText(cost) },
  ];
  const most = parts.reduce((best, part) => (part.share > best.share ? part : best));
  if (most.share >= WORTH) return most;
  const [device, seconds] = (["ane", "gpu", "cpu", "host"] as const)
    .map((each) => [each, deviceSeconds(cost, each)] as const)
    .reduce((best, each) => (each[1].value > best[1].value ? each : best));
  const bytes = cost.segments.reduce((sum, each) => sum + (each.device === device ? each.weightBytes : 0), 0);
  return {
    share: shareOf(seconds, cost),
    words: `the ${UNIT_NAMES[device]}, which reads ${bytesFigure(bytes)} of weights for it`,
  };
}

export interface VerdictInput {
  readonly subject: Subject;
  readonly machine: Machine;
  readonly decode: SubjectCost;
  readonly speed: SpeedView;
  /** "token", or "run" for a graph without tokens. */
  readonly step: "token" | "run" | "text";
}

export function verdictSentence({ subject, machine, decode, speed, step }: VerdictInput): string {
  const how = speed.generate === null ? `${stepText(speed.token)} a ${step}` : rateText(speed.generate);
  return lineOf({ subject, machine, made: decode, how, step });
}

/** The same line of one step of a phase: `words` say which, as "chunk of 32 tokens". */
export function stepSentence({
  words,
  ...input
}: Omit<LineInput, "how" | "step"> & { readonly words: string }): string {
  const took = stepText(secondsFigure(input.made.cost.step, "the step"));
  return lineOf({ ...input, how: `${took} a ${words}`, step: words.replace(/ of .*$/u, "") });
}

interface LineInput extends Pick<VerdictInput, "subject" | "machine"> {
  readonly made: SubjectCost;
  /** "~48–81 t/s" */
  readonly how: string;
  readonly step: string;
}

function lineOf({ subject, machine, made, how, step }: LineInput): string {
  const { share, words } = largestPart(made);
  return `On ${machine.name} with ${withWhat(subject)}: ${how}. ${percent(share)} of each ${step} is ${words}.`;
}
