/**
 * Will it fit, and how fast: arithmetic over the model's shape and a machine's published numbers, with every row shown.
 * Writing a token reads every weight once, so it is bound by bandwidth; reading a prompt is bound by arithmetic.
 */
import type { Figure, SumRow } from "../../contract/views/common.ts";
import type { FitView, SpeedView } from "../../contract/views/model.ts";
import type { Machine } from "./machines.ts";

export interface ModelShape {
  readonly weightBytes: number;
  /** Weights read for one token: all but the rows of the embedding that are not used. */
  readonly bytesPerToken: number;
  /** Weights that take part in a multiplication for each token. */
  readonly activeParameters: number;
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Elements that the caches hold for one position, and the product that gives them. */
  readonly cache: { readonly elements: number; readonly product: string };
}

/** Bytes of one cached number (f16). */
const CACHE_BYTES = 2;
/** Prompt tokens handled at once: what the activation memory is planned for. */
const CHUNK = 512;
/** The engine itself: program, tokenizer, graph. */
const ENGINE_BYTES = 60e6;
/** Below this a token is over before its ops are started. */
const LAUNCH_BOUND_SECONDS = 5e-4;
/** Share of memory a Mac leaves to one program by default before it swaps. */
const USABLE_SHARE = 0.75;
/** What engines reach of the published bandwidth while writing, and of the published rate while reading. */
const BANDWIDTH_REACH = { low: 0.55, high: 0.85 };
const RATE_REACH = { low: 0.25, high: 0.5 };

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

export const cacheBytes = (shape: ModelShape, context: number): number => context * shape.cache.elements * CACHE_BYTES;

export function fitForecast(
  shape: ModelShape,
  machine: Machine,
  context: number,
  trainedContext: number | null,
): FitView {
  const cache = cacheBytes(shape, context);
  const activations = CHUNK * 4 * (4 * shape.width + 3 * shape.feedForward) + 4 * shape.vocabulary + ENGINE_BYTES;
  const row = (
    label: string,
    arithmetic: string | null,
    bytes: number,
    truth: Figure["truth"],
    basis: string,
  ): SumRow => ({
    label,
    arithmetic,
    value: figure(bytes, "bytes", truth, basis),
  });
  const total = shape.weightBytes + cache + activations;
  const available = machine.memoryBytes * USABLE_SHARE;
  const verdict = total <= available * 0.85 ? "fits" : total <= available ? "tight" : "too-big";
  const perToken = cacheBytes(shape, 1);
  const largest = Math.floor((available * 0.85 - shape.weightBytes - activations) / perToken);
  return {
    machine: machine.title,
    context,
    rows: [
      row("Weights", "as the file packs them", shape.weightBytes, "exact", "the tensors of the file"),
      row(
        "KV cache",
        `${grouped(context)} tokens × ${shape.cache.product} × ${CACHE_BYTES} B`,
        cache,
        "predicted",
        "keys and values in f16",
      ),
      row(
        "Activations and engine",
        `${CHUNK} tokens × 4 B × (4 × ${shape.width} + 3 × ${shape.feedForward}) + 4 B × ${grouped(shape.vocabulary)} + ${ENGINE_BYTES / 1e6} MB`,
        activations,
        "predicted",
        `a prompt chunk of ${CHUNK} tokens and the program itself`,
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
    sentence: fitSentence(verdict, total, available, largest, perToken, context, trainedContext),
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

/** The range reaches from the last token of a full context to the first of an empty one: each reads the cache so far, too. */
export function speedForecast(shape: ModelShape, machine: Machine, context: number, promptTokens = 1000): SpeedView {
  const cache = cacheBytes(shape, context);
  const rate = (reach: number, filled: number): number =>
    (machine.bandwidth * reach) / (shape.bytesPerToken + filled * cache);
  const flops = 2 * shape.activeParameters * promptTokens;
  const seconds = (reach: number): number => flops / (machine.gpuFlops * reach);
  const middle = (range: { readonly low: number; readonly high: number }): number => (range.low + range.high) / 2;
  return {
    machine: machine.title,
    generate: figure(
      rate(middle(BANDWIDTH_REACH), 0.5),
      "tokens/s",
      "predicted",
      "bytes per token, with the context full or empty, against memory bandwidth",
      {
        low: rate(BANDWIDTH_REACH.low, 1),
        high: rate(BANDWIDTH_REACH.high, 0),
      },
    ),
    prompt: figure(
      seconds(middle(RATE_REACH)),
      "seconds",
      "predicted",
      "arithmetic against the published rate of the GPU",
      {
        low: seconds(RATE_REACH.high),
        high: seconds(RATE_REACH.low),
      },
    ),
    promptTokens,
    rows: [
      {
        label: "Read for one token",
        arithmetic: "every weight once, one row of the embedding",
        value: figure(shape.bytesPerToken, "bytes", "exact", "the tensors of the file"),
      },
      {
        label: "KV cache, when the context is full",
        arithmetic: `${grouped(context)} tokens × ${bytesFigure(cacheBytes(shape, 1))}`,
        value: figure(cache, "bytes", "predicted", "keys and values in f16"),
      },
      {
        label: "Memory bandwidth",
        arithmetic: `${percent(BANDWIDTH_REACH.low)}–${percent(BANDWIDTH_REACH.high)} % of it is reached`,
        value: figure(machine.bandwidth, "bytes/s", "exact", `published for ${machine.title}`),
      },
      {
        label: `Arithmetic of ${grouped(promptTokens)} tokens`,
        arithmetic: `2 × ${shape.activeParameters < 1e7 ? (shape.activeParameters / 1e6).toFixed(1) : grouped(shape.activeParameters / 1e6)} M × ${grouped(promptTokens)}`,
        value: figure(flops, "flops", "exact", "two operations per weight and token"),
      },
      {
        label: "Rate of the GPU",
        arithmetic: `${percent(RATE_REACH.low)}–${percent(RATE_REACH.high)} % of it is reached`,
        value: figure(machine.gpuFlops, "flops/s", "exact", `published for ${machine.title}`),
      },
    ],
    sentence: speedSentence(shape, machine, cache),
  };
}

function speedSentence(shape: ModelShape, machine: Machine, cache: number): string {
  const read = `${bytesText(shape.bytesPerToken)} per token, and ${bytesText(cache)} more when the context is full, against ${bytesText(machine.bandwidth)} per second`;
  return shape.bytesPerToken / machine.bandwidth < LAUNCH_BOUND_SECONDS
    ? `Memory would allow this (${read}), but so small a model is bound by starting its ops, which is not counted here: expect a part of it.`
    : `Decode is bound by memory: ${read}.`;
}
