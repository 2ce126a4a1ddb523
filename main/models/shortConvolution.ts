/**
 * The short convolution: each channel of a layer sees its own last few tokens. What it saw last is
 * a state, of which a session keeps checkpoints.
 */
import type { Value } from "../ir/graph.ts";
import { tensor } from "../ir/type.ts";
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { LayerPlace } from "./denseBlocks.ts";

export interface ConvolutionParts {
  /** [channels] */
  readonly bias?: Value | undefined;
  /** What the state is called beside the layer's number, where a layer has more than one. */
  readonly state?: string;
}

/** x [T, channels] through `weight` [channels, taps], which ends in the newest token. */
export function shortConvolution(
  { d, index }: LayerPlace,
  x: Value,
  weight: Value,
  { bias, state = "conv" }: ConvolutionParts = {},
): Value {
  const [channels, taps] = d.g.typeOf(weight).shape;
  if (typeof channels !== "number" || typeof taps !== "number" || taps < 2)
    throw new WorkbenchError(
      "BUG_INVARIANT",
      "[short convolution] expected a weight [channels, taps] of two taps or more",
    );
  let result = x;
  const type = tensor("f32", [taps - 1, channels]);
  d.state(`${state}.${index}`, type, { label: "last_inputs", rewind: "checkpoint" }, (before) => {
    const operands = bias === undefined ? ([x, before, weight] as const) : ([x, before, weight, bias] as const);
    const [mixed, after] = d.g.short_conv_cached(operands, {}, "short_conv");
    if (mixed === undefined || after === undefined)
      throw new WorkbenchError("BUG_INVARIANT", "[short_conv_cached] expected two outputs");
    result = mixed;
    return after;
  });
  return result;
}
