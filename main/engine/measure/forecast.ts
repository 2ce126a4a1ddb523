/**
 * Will it fit, and how fast: arithmetic over what an engine holds of the model and the rates of the unit that it runs on, with
 * every row shown. Decode reads every weight once a token, so it is bound by bandwidth; prefill is bound by arithmetic.
 */
import type { Figure, SumRow } from "../../contract/views/common.ts";
import type { FitView, SpeedView } from "../../contract/views/model.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { CHUNK } from "../../models/template.ts";
import type { CacheType } from "../../runtime/devices/provider.ts";
import type { ComputeUnit, Machine } from "./machines.ts";

/** A way to run a model: what is held of it, in which forms, and which unit reads it. */
export interface Runner {
  /** "Core ML, CPU and Neural Engine". */
  readonly title: string;
  readonly unit: ComputeUnit;
  readonly held: HeldBytes;
  /** Of the weights: "as the file packs them". */
  readonly form: string;
  readonly cache: CacheType;
  /** Programs with fixed sizes read their whole cache for each token; others what is filled. */
  readonly readsWholeCache: boolean;
}

export const AS_STORED = {
  unit: "cpu",
  held: heldAsStored,
  form: "as the file packs them",
  cache: "f16",
  readsWholeCache: false,
} as const satisfies Omit<Runner, "title">;

export interface ModelShape {
  readonly weightBytes: number;
  /** Of the weights, read for one token: all but the rows of the embedding that are not used. */
  readonly bytesPerToken: number;
  /** Weights that take part in a multiplication for each token. */
  readonly activeParameters: number;
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Elements that the caches hold for one position, and the product that gives them. */
  readonly cache: { readonly elements: number; readonly product: string };
  /** f32 elements of recurrent states, whatever the context. */
  readonly recurrent?: { readonly elements: number; readonly product: string };
}

const CACHE_BYTES: Readonly<Record<CacheType, number>> = { f16: 2, f32: 4 };
/** The engine itself: program, tokenizer, graph. */
const ENGINE_BYTES = 60e6;
/** Below this a token is over before its ops are started. */
const LAUNCH_BOUND_SECONDS = 5e-4;
/** Share of memory a Mac leaves to one program by default before it swaps. */
const USABLE_SHARE = 0.75;
interface Reach {
  readonly low: number;
  readonly high: number;
}
/** What programs reach of a bandwidth in decode and of a rate in prefill. */
const BANDWIDTH_REACH: Readonly<Record<ComputeUnit, Reach>> = {
  gpu: { low: 0.55, high: 0.85 },
  ane: { low: 0.55, high: 0.85 },
  // llama.cpp on two x86 cores: 36 to 68 %.
  cpu: { low: 0.35, high: 0.7 },
};
const RATE_REACH: Readonly<Record<ComputeUnit, Reach>> = {
  gpu: { low: 0.25, high: 0.5 },
  ane: { low: 0.4, high: 0.9 },
  cpu: { low: 0.25, high: 0.7 },
};
const UNIT_NAMES: Readonly<Record<ComputeUnit, string>> = { cpu: "CPU", gpu: "GPU", ane: "Neural Engine" };
const middle = ({ low, high }: Reach): number => (low + high) / 2;

export const figure = (
  value: number,
  unit: Figure["unit"],
  truth: Figure["truth"],
  basis: string,
  range: { readonly low?: number; readonly high?: number } = {},
): Figure => ({
  value,
  low: range.low ?? null,
  high: range.high ?? null,
  unit,
  truth,
  basis,
});

/** "1024", "40 960": four digits stay together, as in the rest of the window. */
export function grouped(n: number): string {
  const digits = String(Math.round(n));
  return digits.length <= 4 ? digits : digits.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}
/** "18 GB", "4.3 GB", "67 MB", "1.6 MB", "12 KB". */
export function bytesText(bytes: number): string {
  const [unit, name] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "KB"];
  const value = bytes / unit;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${name}`;
}

/** Three significant figures, as window and command line write their own: "5.76 KB". */
export function bytesFigure(bytes: number): string {
  const [unit, name] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : bytes >= 1e3 ? [1e3, "KB"] : [1, "B"];
  return `${Number((bytes / unit).toPrecision(3))} ${name}`;
}

const percent = (share: number): number => Math.round(share * 100);

export const cacheBytes = (shape: ModelShape, cache: CacheType, context: number): number =>
  context * shape.cache.elements * CACHE_BYTES[cache];

export interface ForecastInput {
  readonly shape: ModelShape;
  readonly runner: Runner;
  readonly machine: Machine;
  readonly context: number;
}

export function fitForecast({ shape, runner, machine, context }: ForecastInput, trained: number | null): FitView {
  const cache = cacheBytes(shape, runner.cache, context);
  const activations = CHUNK * 4 * (4 * shape.width + 3 * shape.feedForward) + 4 * shape.vocabulary + ENGINE_BYTES;
  const row = (label: string, arithmetic: string, value: Figure): SumRow => ({ label, arithmetic, value });
  const recurrent = 4 * (shape.recurrent?.elements ?? 0);
  const total = shape.weightBytes + cache + recurrent + activations;
  const available = machine.memoryBytes * USABLE_SHARE;
  const verdict = total <= available * 0.85 ? "fits" : total <= available ? "tight" : "too-big";
  const perToken = cacheBytes(shape, runner.cache, 1);
  const largest = Math.floor((available * 0.85 - shape.weightBytes - recurrent - activations) / perToken);
  return {
    machine: machine.title,
    context,
    rows: [
      row(
        "Weights",
        runner.form,
        figure(shape.weightBytes, "bytes", "exact", "the form of each tensor times its size"),
      ),
      row(
        "KV cache",
        `${grouped(context)} tokens × ${shape.cache.product} × ${CACHE_BYTES[runner.cache]} B`,
        figure(cache, "bytes", "predicted", `keys and values in ${runner.cache}`),
      ),
      ...(shape.recurrent === undefined
        ? []
        : [
            row(
              "Recurrent states",
              `${shape.recurrent.product} × 4 B`,
              figure(recurrent, "bytes", "predicted", "what recurrent layers remember, whatever the context"),
            ),
          ]),
      row(
        "Activations and engine",
        `${CHUNK} tokens × 4 B × (4 × ${shape.width} + 3 × ${shape.feedForward}) + 4 B × ${grouped(shape.vocabulary)} + ${ENGINE_BYTES / 1e6} MB`,
        figure(activations, "bytes", "predicted", `a prompt chunk of ${CHUNK} tokens and the program itself`),
      ),
    ],
    total: figure(total, "bytes", "predicted", "the sum of the rows"),
    available: figure(
      available,
      "bytes",
      "predicted",
      `${percent(USABLE_SHARE)} % of ${Math.round(machine.memoryBytes / 2 ** 30)} GiB, what macOS leaves to one program`,
    ),
    verdict,
    sentence: fitSentence(verdict, total, available, largest, perToken, context, trained),
  };
}

function fitSentence(
  verdict: FitView["verdict"],
  total: number,
  available: number,
  largest: number,
  perToken: number,
  context: number,
  trained: number | null,
): string {
  if (verdict === "too-big")
    return `No: it needs ${bytesText(total)} of the ${bytesText(available)} that are free to use. ${largest > 0 ? `A context of ${grouped(largest)} tokens would fit.` : "A smaller quantisation would be needed."}`;
  const room = trained !== null && largest >= trained ? trained : largest;
  const grow =
    room > context
      ? ` The context could grow to ${grouped(room)} tokens (${bytesText(room * perToken)}).`
      : " This is for its longest context.";
  return verdict === "fits"
    ? `Yes, with ${bytesText(available - total)} to spare.${grow}`
    : `Just: ${bytesText(available - total)} to spare. Close other programs first.`;
}

/**
 * The range of decode reaches from the last token of a full context to the first of an empty one, which reads the weights alone
 * unless the program reads its whole cache for each token.
 */
export function speedForecast({ shape, runner, machine, context }: ForecastInput, promptTokens = 1000): SpeedView {
  const { unit } = runner;
  const cache = cacheBytes(shape, runner.cache, context);
  const [bandwidth, rate] = [machine.bandwidth[unit], machine.rate[unit]];
  const [reach, rateReach] = [BANDWIDTH_REACH[unit], RATE_REACH[unit]];
  const perSecond = (share: number, filled: number): number =>
    (bandwidth.perSecond * share) / (shape.bytesPerToken + (runner.readsWholeCache ? 1 : filled) * cache);
  const flops = 2 * shape.activeParameters * promptTokens;
  const seconds = (share: number): number => flops / (rate.perSecond * share);
  const reached = ({ low, high }: Reach): string => `${percent(low)}–${percent(high)} % of it is reached`;
  const launchBound = shape.bytesPerToken / bandwidth.perSecond < LAUNCH_BOUND_SECONDS;
  return {
    machine: machine.title,
    generate: launchBound
      ? null
      : figure(
          perSecond(middle(reach), 0.5),
          "tokens/s",
          "predicted",
          runner.readsWholeCache
            ? "bytes per token, the whole cache among them, against memory bandwidth"
            : "bytes per token, with the context full or empty, against memory bandwidth",
          { low: perSecond(reach.low, 1), high: perSecond(reach.high, 0) },
        ),
    prompt: figure(
      seconds(middle(rateReach)),
      "seconds",
      "predicted",
      `arithmetic against the rate of the ${UNIT_NAMES[unit]}`,
      { low: seconds(rateReach.high), high: seconds(rateReach.low) },
    ),
    promptTokens,
    rows: [
      {
        label: "Weights read for one token",
        arithmetic: `each once, ${runner.form}; one row of a table that is only looked up`,
        value: figure(shape.bytesPerToken, "bytes", "exact", "the form of each tensor times its size"),
      },
      {
        label: runner.readsWholeCache ? "KV cache, all of it for each token" : "KV cache, when the context is full",
        arithmetic: `${grouped(context)} tokens × ${bytesFigure(cacheBytes(shape, runner.cache, 1))}`,
        value: figure(cache, "bytes", "predicted", `keys and values in ${runner.cache}`),
      },
      {
        label: `Memory bandwidth of the ${UNIT_NAMES[unit]}`,
        arithmetic: reached(reach),
        value: figure(bandwidth.perSecond, "bytes/s", "exact", bandwidth.source),
      },
      {
        label: `Arithmetic of ${grouped(promptTokens)} tokens`,
        arithmetic: `2 × ${shape.activeParameters < 1e7 ? (shape.activeParameters / 1e6).toFixed(1) : grouped(shape.activeParameters / 1e6)} M × ${grouped(promptTokens)}`,
        value: figure(flops, "flops", "exact", "two operations per weight and token"),
      },
      {
        label: `Rate of the ${UNIT_NAMES[unit]}`,
        arithmetic: reached(rateReach),
        value: figure(rate.perSecond, "flops/s", unit === "gpu" ? "exact" : "predicted", rate.source),
      },
    ],
    sentence: launchBound
      ? `No rate: so small a model is bound by starting its ops, which is not counted here. Memory alone would allow ${grouped(perSecond(middle(reach), 0.5))} tokens per second.`
      : `Decode is bound by memory: ${bytesText(shape.bytesPerToken)} of weights per token and ${runner.readsWholeCache ? `${bytesText(cache)} of cache` : `up to ${bytesText(cache)} of cache`}, against ${bytesText(bandwidth.perSecond)} per second.`,
  };
}
