/** Which functions a package has: the sizes of a decoder's steps, an encoder beside its decoder, lengths of texts. */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Bindings } from "../../ir/dim.ts";
import type { Graph } from "../../ir/graph.ts";
import type { RequestedFunctions } from "./export.ts";
import type { ShapeFlexibility } from "./flexible.ts";
import { flexibleSizes, hasFlexibleSizes, takesShapes } from "./flexible.ts";
import type { PlanTarget } from "./plan/target.ts";
import { systemOf } from "./plan/target.ts";

/** One specialisation of the graph. */
export interface Variant {
  readonly name: string;
  readonly bindings: Bindings;
  /** Another graph than the request's. */
  readonly graph?: Graph;
}

/** Symbols of a decoder template. */
export interface DecoderSymbols {
  readonly tokens: string;
  readonly rows: string;
  readonly capacity: string;
  /** Name of the input with the tokens. */
  readonly input: string;
  /** Tokens of a prefill function. */
  readonly bucket: number;
}

/** Decode and prefill as functions of one package; before macOS 15 a package has one function, and that decodes. */
export function decoderVariants(
  target: Pick<PlanTarget, "os" | "context">,
  symbols: Omit<DecoderSymbols, "input">,
): readonly Variant[] {
  const sized = (tokens: number): Bindings => ({
    [symbols.tokens]: tokens,
    [symbols.rows]: 1,
    [symbols.capacity]: target.context,
  });
  if (systemOf(target.os).opset === "CoreML7") return [{ name: "main", bindings: sized(1) }];
  const bucket = Math.min(symbols.bucket, target.context);
  return [
    { name: "decode", bindings: sized(1) },
    ...(bucket > 1 ? [{ name: "prefill", bindings: sized(bucket) }] : []),
  ];
}

/** Sizes of a step between one token and the bucket, when inputs are flexible. */
const STEP_SIZES = [2, 4, 8, 16, 32] as const;

/**
 * The Neural Engine takes a range of sizes only where the system optimises for each shape, which a program can ask for since macOS
 * 14.4; a list of shapes it always takes.
 */
const refusesRanges = ({ os, units }: Pick<PlanTarget, "os" | "units">): boolean =>
  systemOf(os).opset === "CoreML7" && (units === "cpu-ane" || units === "all");

/**
 * The same with a flexible number of tokens: `sizes` adds functions for sizes between, of which a step takes the one that fits;
 * `inputs` and `native` are one function that is lowered at three sizes and takes more of them.
 */
export function flexibleVariants(
  target: Pick<PlanTarget, "os" | "context" | "units">,
  symbols: DecoderSymbols,
  flexibility: ShapeFlexibility,
): RequestedFunctions {
  const fixed = decoderVariants(target, symbols);
  const sized = (name: string, tokens: number): Variant => ({
    name,
    bindings: { [symbols.tokens]: tokens, [symbols.rows]: 1, [symbols.capacity]: target.context },
  });
  // Too few positions for three sizes: functions for the sizes that there are.
  if (flexibility === "inputs" && !hasFlexibleSizes(target.context)) return flexibleVariants(target, symbols, "sizes");
  if (takesShapes(flexibility)) {
    const sizes = flexibleSizes(target.context);
    const variants = sizes.map((tokens) => sized(`main_${tokens}`, tokens));
    if (flexibility === "native") return { variants, merge: { sizes, input: symbols.input } };
    const says = refusesRanges(target) ? "enumerated" : "range";
    const otherwise = flexibleVariants(target, symbols, "sizes");
    return { variants, merge: { sizes, input: symbols.input, says }, otherwise };
  }
  // A package with one function has no room for other sizes.
  if (flexibility === "fixed" || fixed.length === 1) return { variants: fixed };
  const between = STEP_SIZES.filter((tokens) => tokens < Math.min(symbols.bucket, target.context));
  return { variants: [...fixed, ...between.map((tokens) => sized(`prefill_${tokens}`, tokens))] };
}

/**
 * An encoder-decoder: the encoder is a function of the largest text, and a step takes what it gave. Its decoder begins with one
 * token, so there is no prefill.
 */
export function sourceVariants(
  target: Pick<PlanTarget, "os" | "context">,
  symbols: Omit<DecoderSymbols, "input" | "bucket"> & { readonly source: string },
  encoder: Graph,
  flexibility: ShapeFlexibility,
): readonly Variant[] {
  const { tokens, rows, capacity, source } = symbols;
  if (systemOf(target.os).opset === "CoreML7")
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      "[export] got a system whose packages have one function, expected two: an encoder-decoder reads with one and writes with the other",
      { hint: "Choose macOS 15, iOS 18 or newer." },
    );
  if (flexibility === "native")
    throw new WorkbenchError("UNSUPPORTED_TARGET", "[flexible] an encoder-decoder is made for fixed lengths only", {
      hint: "Unset RLX_COREML_NATIVE_FLEX.",
    });
  return [
    {
      name: "decode",
      bindings: { [tokens]: 1, [rows]: 1, [capacity]: target.context, [source]: target.context },
    },
    { name: "read", bindings: { [tokens]: target.context }, graph: encoder },
  ];
}

/** Lengths of texts that functions are made for, below the largest one. */
const TEXT_SIZES = [32, 64, 128, 256, 512, 1024, 2048] as const;

/**
 * A graph of whole texts has one size, or with `sizes` some, of which a text takes the smallest that fits; what a shorter text
 * leaves of it is padding.
 */
export function textVariants(
  target: Pick<PlanTarget, "os" | "context">,
  symbol: string,
  flexibility: ShapeFlexibility,
): readonly Variant[] {
  if (flexibility === "native")
    throw new WorkbenchError("UNSUPPORTED_TARGET", "[flexible] a graph of whole texts is made for fixed lengths only", {
      hint: "Unset RLX_COREML_NATIVE_FLEX: RLX_COREML_FLEXIBLE_INPUTS makes a function for each of several lengths.",
    });
  const largest: Variant = { name: "main", bindings: { [symbol]: target.context } };
  if (flexibility === "fixed" || systemOf(target.os).opset === "CoreML7") return [largest];
  const shorter = TEXT_SIZES.filter((size) => size < target.context);
  return [largest, ...shorter.map((size) => ({ name: `text_${size}`, bindings: { [symbol]: size } }))];
}
