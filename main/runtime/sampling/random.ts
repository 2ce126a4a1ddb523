/**
 * The random numbers of a draw: Philox4x32-10 (Salmon et al., 2011), as the native engines have it
 * (native/src/core/sampling.cpp). A number depends on seed, step and stream only.
 */
import { philox } from "../../ops/families/philox.ts";

/** Streams of one step: the draw itself, and XTC's decision. */
export type Stream = "draw" | "xtc";
const STREAMS: Readonly<Record<Stream, number>> = { draw: 0, xtc: 1 };

/** A number in [0, 1) with 53 random bits. */
export function uniform(seed: number, step: number, stream: Stream = "draw"): number {
  const [high, low] = philox([step >>> 0, Math.floor(step / 2 ** 32), STREAMS[stream], 0], [seed >>> 0, 0]);
  return (high * 2 ** 21 + (low >>> 11)) / 2 ** 53;
}
