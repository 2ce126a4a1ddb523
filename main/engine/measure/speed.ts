/**
 * How fast a model would be, from the costs of its steps: tokens per second is one over the time of a decode step, and the first
 * token comes when the prompt's steps are over. The rows are the parts of a token's time and add up to it.
 */
import type { Machine } from "../../compiler/cost/machines.ts";
import type { Seconds } from "../../compiler/cost/seconds.ts";
import { sumOf, times } from "../../compiler/cost/seconds.ts";
import type { CostDevice, StepCost } from "../../compiler/cost/stepCost.ts";
import { isBoundByStarts, movedByStep, stepsFor } from "../../compiler/cost/stepCost.ts";
import type { Figure, SumRow } from "../../contract/views/common.ts";
import type { SpeedView } from "../../contract/views/cost.ts";
import { secondsFigure, shareOf } from "./costFigures.ts";
import { bytesFigure, figure, grouped } from "./forecast.ts";
import { secondsText } from "./advice.ts";

export const UNIT_NAMES: Readonly<Record<CostDevice, string>> = {
  ane: "Neural Engine",
  gpu: "GPU",
  cpu: "CPU",
  host: "host code",
};
const DEVICES = ["ane", "gpu", "cpu", "host"] as const;

/** Of the prompts that speeds are told for; a model that holds fewer is told for as many as it holds. */
export const PROMPT_TOKENS = 1000;

export interface SpeedInput {
  readonly machine: Machine;
  readonly decode: StepCost;
  /** Absent for a graph without tokens. */
  readonly prefill: StepCost | undefined;
  /** Whether it generates: an encoder does not. */
  readonly writes: boolean;
  /** One step reads the whole text. */
  readonly wholeText: boolean;
  /** Positions that the model knows; absent where no file says it. */
  readonly context?: number | undefined;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export function speedOf({ machine, decode, prefill, writes, wholeText, context = Infinity }: SpeedInput): SpeedView {
  const { step } = decode;
  const bound = isBoundByStarts(decode);
  const promptTokens = prefill !== undefined && wholeText ? prefill.tokens : Math.min(PROMPT_TOKENS, context);
  return {
    machine: machine.title,
    generate: writes && !bound && step.value > 0 ? rateOf(step) : null,
    token: secondsFigure(step, "the rows together"),
    prompt: prefill === undefined ? null : promptOf(prefill, promptTokens),
    promptTokens,
    rows: [...decodeRows(decode, machine)],
    promptRows: prefill === undefined ? [] : [...prefillRows(prefill, promptTokens)],
    sentence: speedSentence(decode, machine, { writes, bound }),
  };
}

const STARTING = ["Starting", "Starting and handing over"];

/** `isBoundByStarts` of a speed as it is told: a graph has no rate that would be missing. */
export function startsDecide({ token, rows }: SpeedView): boolean {
  const overhead = rows.find(({ label }) => STARTING.includes(label))?.value.value ?? 0;
  return isBoundByStarts({ step: token, overhead: { value: overhead } });
}

function rateOf({ value, low, high }: Seconds): Figure {
  const range = { low: 1 / high, ...(low > 0 && { high: 1 / low }) };
  return figure(1 / value, "tokens/s", "predicted", "one over the time of a token", range);
}

const promptOf = (prefill: StepCost, promptTokens: number): Figure =>
  secondsFigure(times(prefill.step, stepsFor(prefill, promptTokens)), stepsText(prefill, promptTokens));

const stepsText = (prefill: StepCost, promptTokens: number): string => {
  const steps = stepsFor(prefill, promptTokens);
  return `${steps} ${steps === 1 ? "step" : "steps"} of ${grouped(prefill.tokens)} tokens`;
};

/** A token's time by device; then what belongs to none. */
function decodeRows(decode: StepCost, { bandwidth }: Machine): readonly SumRow[] {
  const rows = DEVICES.flatMap((device): SumRow[] => {
    const own = decode.segments.filter((segment) => segment.device === device);
    if (own.length === 0) return [];
    const sum = (of: (segment: (typeof own)[number]) => number): number => own.reduce((all, each) => all + of(each), 0);
    const work = sumOf(own.map((segment) => segment.work));
    const rate = device === "host" ? undefined : bandwidth[device];
    const of =
      rate === undefined
        ? ""
        : `, ${percent(rate.reach.low)} to ${percent(rate.reach.high)} of ${bytesFigure(rate.perSecond)}/s`;
    return [
      {
        label: `On the ${UNIT_NAMES[device]}`,
        arithmetic: `${bytesFigure(sum(({ weightBytes }) => weightBytes))} of weights and ${bytesFigure(sum(({ valueBytes }) => valueBytes))} of caches and values${of}`,
        value: secondsFigure(work, rate?.source ?? "bytes that the host moves"),
      },
    ];
  });
  const rest = (label: string, arithmetic: string, seconds: Seconds): SumRow[] =>
    seconds.value === 0 ? [] : [{ label, arithmetic, value: secondsFigure(seconds, "a constant for each") }];
  return [
    ...rows,
    ...(decode.hops.length === 0
      ? rest("Starting", "segments or ops", decode.overhead)
      : rest("Starting and handing over", "segments or ops, and hops", decode.overhead)),
    ...rest(
      "Copying caches",
      `${bytesFigure(decode.cacheBytes)} read and written once, if Core ML copies them`,
      decode.caches,
    ),
  ];
}

function prefillRows(prefill: StepCost, promptTokens: number): readonly SumRow[] {
  const flops = prefill.segments.reduce((sum, segment) => sum + segment.flops, 0);
  return [
    {
      label: `Prefill of ${grouped(promptTokens)} tokens`,
      arithmetic: `${stepsText(prefill, promptTokens)}, each ${secondsText(prefill.step.value)}, ${Number((flops / 1e9).toPrecision(3))} G operations`,
      value: promptOf(prefill, promptTokens),
    },
  ];
}

function speedSentence(
  decode: StepCost,
  { bandwidth }: Machine,
  { writes, bound }: { readonly writes: boolean; readonly bound: boolean },
): string {
  const around = shareOf(decode.overhead, decode);
  if (bound)
    return around > 0.5
      ? `${writes ? "No rate: " : ""}${percent(around)} of a step is ${decode.hops.length === 0 ? "starting ops" : "starting ops and handing over"}, which no forecast knows well.`
      : `${writes ? "No rate: " : ""}a step computes for ${secondsText(decode.step.value - decode.overhead.value)}, less than what lies around it takes, such as sampling.`;
  if (!writes) return "It generates no text: the time is for the whole input.";
  const fastest = Math.max(...Object.values(bandwidth).map(({ perSecond }) => perSecond));
  return `A token moves ${bytesFigure(movedByStep(decode))}: memory of ${bytesFigure(fastest)}/s allows no more than ${Number((fastest / movedByStep(decode)).toPrecision(2))} tokens per second.`;
}
