/** Will it fit: arithmetic over what an engine holds of the model and what a machine leaves it, with every row shown. */
import type { Figure, SumRow } from "../../contract/views/common.ts";
import type { FitView } from "../../contract/views/model.ts";
import { heldAsStored } from "../../ir/heldBytes.ts";
import type { HeldBytes } from "../../ir/heldBytes.ts";
import { CHUNK } from "../../models/template.ts";
import type { CacheType } from "../../models/blocks.ts";
import { ringRows } from "../../models/rings.ts";
import type { CacheSize } from "../../models/family.ts";
import type { ComputeUnit, Machine } from "../../compiler/cost/machines.ts";

/** A way to run a model: what is held of it, in which forms, and which unit reads it. */
export interface Runner {
  /** "Core ML, CPU and Neural Engine". */
  readonly title: string;
  readonly unit: ComputeUnit;
  readonly held: HeldBytes;
  /** Of the weights: "as the file packs them". */
  readonly form: string;
  readonly cache: CacheType;
  /** Layers that see only the newest positions keep no others. */
  readonly rings?: boolean;
}

export const AS_STORED = {
  unit: "cpu",
  held: heldAsStored,
  form: "as the file packs them",
  cache: "f16",
} as const satisfies Omit<Runner, "title">;

export interface ModelShape {
  readonly weightBytes: number;
  /** Of the weights, read for one token: all but the rows of the embedding that are not used, and experts that are not picked. */
  readonly bytesPerToken: number;
  /** Weights that take part in a multiplication for each token. */
  readonly activeParameters: number;
  /** Those that a token meets in a layer; absent where it meets all, or there are none. */
  readonly experts?: { readonly used: number; readonly count: number };
  readonly layers: number;
  readonly width: number;
  readonly feedForward: number;
  readonly vocabulary: number;
  /** Elements that the caches hold for one position, and the product that gives them. */
  readonly cache: CacheSize;
  /** f32 elements of recurrent states, whatever the context. */
  readonly recurrent?: { readonly elements: number; readonly product: string };
}

const CACHE_BYTES: Readonly<Record<CacheType, number>> = {
  f16: 2,
  f32: 4,
  q8_0: 34 / 32,
  q4_0: 18 / 32,
};
/** The engine itself: program, tokenizer, graph. */
const ENGINE_BYTES = 60e6;
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

/** Keys and values that cannot be packed stay in f16. */
const keptIn = ({ cache }: ModelShape, type: CacheType): CacheType =>
  type === "f16" || type === "f32" || cache.packs === true ? type : "f16";

type Kept = Pick<Runner, "cache" | "rings">;

/** Positions that layers with a window keep; undefined where all layers keep all. */
const rowsKept = ({ cache: { local } }: ModelShape, { rings = false }: Kept): number | undefined =>
  rings && local !== undefined ? ringRows(local.reach, CHUNK) : undefined;

/** Bytes of keys and values. */
export function cacheBytes(shape: ModelShape, kept: Kept, context: number): number {
  const { elements, local } = shape.cache;
  const ofRings = local?.elements ?? 0;
  const rows = Math.min(context, rowsKept(shape, kept) ?? context);
  return (context * (elements - ofRings) + rows * ofRings) * CACHE_BYTES[keptIn(shape, kept.cache)];
}

/** The sum that gives them. */
function cacheSum(shape: ModelShape, kept: Kept, context: number): string {
  const { elements, product, local } = shape.cache;
  const bytes = `${CACHE_BYTES[keptIn(shape, kept.cache)]} B`;
  const rows = rowsKept(shape, kept) ?? context;
  if (local === undefined || rows >= context) return `${grouped(context)} tokens × ${product} × ${bytes}`;
  const ofRings = `${grouped(rows)} of ${grouped(context)} tokens × ${local.product}`;
  const others = elements - local.elements;
  return others === 0
    ? `${ofRings} × ${bytes}`
    : `(${grouped(context)} tokens × ${grouped(others)} + ${ofRings}) × ${bytes}`;
}

/** The longest context whose keys and values take no more than so much. */
function largestContext(shape: ModelShape, kept: Kept, room: number): number {
  const rows = rowsKept(shape, kept) ?? 0;
  const filled = cacheBytes(shape, kept, rows);
  if (room <= filled) return Math.floor(room / cacheBytes(shape, kept, 1));
  return rows + Math.floor((room - filled) / (cacheBytes(shape, kept, rows + 1) - filled));
}

export interface ForecastInput {
  readonly shape: ModelShape;
  readonly runner: Runner;
  readonly machine: Machine;
  readonly context: number;
}

export function fitForecast({ shape, runner, machine, context }: ForecastInput, trained: number | null): FitView {
  const type = keptIn(shape, runner.cache);
  const cache = cacheBytes(shape, runner, context);
  const activations = CHUNK * 4 * (4 * shape.width + 3 * shape.feedForward) + 4 * shape.vocabulary + ENGINE_BYTES;
  const row = (label: string, arithmetic: string, value: Figure): SumRow => ({ label, arithmetic, value });
  const recurrent = 4 * (shape.recurrent?.elements ?? 0);
  const total = shape.weightBytes + cache + recurrent + activations;
  const limit = runner.unit === "gpu" ? machine.usable.gpu : machine.usable.program;
  const available = limit.bytes;
  const verdict = total <= available * 0.85 ? "fits" : total <= available ? "tight" : "too-big";
  const bytesOf = (positions: number): number => cacheBytes(shape, runner, positions);
  const largest = largestContext(shape, runner, available * 0.85 - shape.weightBytes - recurrent - activations);
  return {
    machine: machine.title,
    context,
    rows: [
      row(
        "Weights",
        runner.form,
        figure(shape.weightBytes, "bytes", "exact", "the form of each tensor times its size"),
      ),
      ...(cache === 0
        ? []
        : [
            row(
              "KV cache",
              cacheSum(shape, runner, context),
              figure(cache, "bytes", "predicted", `keys and values in ${type}`),
            ),
          ]),
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
    available: figure(available, "bytes", "predicted", limit.source),
    verdict,
    sentence: fitSentence(verdict, total, available, largest, bytesOf, context, trained),
  };
}

function fitSentence(
  verdict: FitView["verdict"],
  total: number,
  available: number,
  largest: number,
  bytesOf: (context: number) => number,
  context: number,
  trained: number | null,
): string {
  if (verdict === "too-big")
    return `No: it needs ${bytesText(total)} of the ${bytesText(available)} that are free to use. ${largest > 0 ? `A context of ${grouped(largest)} tokens would fit.` : "A smaller quantisation would be needed."}`;
  const room = trained !== null && largest >= trained ? trained : largest;
  const grow =
    bytesOf(context + 1) === bytesOf(context)
      ? " A longer context takes no more."
      : room > context
        ? ` The context could grow to ${grouped(room)} tokens (${bytesText(bytesOf(room))}).`
        : " This is for its longest context.";
  return verdict === "fits"
    ? `Yes, with ${bytesText(available - total)} to spare.${grow}`
    : `Just: ${bytesText(available - total)} to spare. Close other programs first.`;
}
