/**
 * Fourier transforms over the op fft, as NumPy and SciPy have them. A spectrum holds, along the last axis, the real parts of its
 * numbers and then the imaginary parts; fft, complex_mul and log_mel take that form.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Value } from "../ir/graph.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { plainDType } from "../ir/dtype.ts";
import { filledLike } from "../ops/families/constants.ts";
import { join, split } from "../ops/families/complex.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import type { FftNorm } from "../ops/signal/fft.ts";

/** The size of the last axis, which has to be a number. */
function lastSize(g: OpBuilder, x: Value, who: string): number {
  const size = g.typeOf(x).shape.at(-1);
  if (typeof size === "number") return size;
  throw new WorkbenchError("IR_SHAPE", `[${who}] last axis: got ${size ?? "a scalar"}, expected a size that is known`, {
    hint: "Give the last axis a number for its size.",
  });
}

const cut = (g: OpBuilder, x: Value, start: number, length: number): Value =>
  g.narrow([x], { axis: g.typeOf(x).shape.length - 1, start, length });

/** Of real numbers [.., N]: the ⌊N/2⌋ + 1 frequencies from 0 on. */
export function rfft(g: OpBuilder, x: Value, norm: FftNorm = "backward"): Value {
  const bins = Math.floor(lastSize(g, x, "rfft") / 2) + 1;
  const [re, im] = split(g, g.fft([join(g, [x, filledLike(g, x, 0)])], { inverse: false, norm }));
  return join(g, [cut(g, re, 0, bins), cut(g, im, 0, bins)]);
}

/** The real numbers [.., size] of a spectrum that rfft gave. */
export function irfft(g: OpBuilder, spectrum: Value, size: number, norm: FftNorm = "backward"): Value {
  const bins = lastSize(g, spectrum, "irfft") / 2;
  if (bins !== Math.floor(size / 2) + 1)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[irfft] size: got ${size} of ${bins} frequencies, expected ${2 * bins - 2} or ${2 * bins - 1}`,
    );
  const [re, im] = split(g, spectrum);
  const axes = [g.typeOf(spectrum).shape.length - 1];
  // What is above the middle is the conjugate of what is below it.
  const above = (x: Value): Value => g.reverse([cut(g, x, 1, size - bins)], { axes });
  const whole = [join(g, [re, above(re)]), join(g, [im, g.neg([above(im)])])] as const;
  const [made] = split(g, g.fft([join(g, whole)], { inverse: true, norm }));
  return made;
}

/** Of complex numbers [.., H, 2W], over the last two axes. */
export function fft2(g: OpBuilder, z: Value, attrs: { readonly inverse: boolean; readonly norm: FftNorm }): Value {
  const rank = g.typeOf(z).shape.length;
  const perm = [...Array.from({ length: rank - 2 }, (_, i) => i), rank - 1, rank - 2];
  const turned = (x: Value): Value => {
    const [re, im] = split(g, x);
    return join(g, [g.transpose([re], { perm }), g.transpose([im], { perm })]);
  };
  return turned(g.fft([turned(g.fft([z], attrs))], attrs));
}

export interface Frames {
  /** Numbers of a frame, and how far it is from one to the next. */
  readonly size: number;
  readonly hop: number;
  /** One number for each of a frame; a periodic Hann window when absent. */
  readonly window?: readonly number[];
}

const hann = (size: number): readonly number[] =>
  Array.from({ length: size }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size));

function framesOf(
  who: string,
  length: number,
  { size, hop, window = hann(size) }: Frames,
): { places: Int32Array; window: readonly number[]; count: number } {
  const fits = Number.isInteger(size) && Number.isInteger(hop) && size >= 1 && hop >= 1 && size <= length;
  if (!fits || window.length !== size)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[${who}] frames: got ${size} numbers, hop ${hop}, a window of ${window.length}, expected a window of that size within ${length}`,
    );
  const count = Math.floor((length - size) / hop) + 1;
  return {
    window,
    count,
    places: Int32Array.from({ length: count * size }, (_, i) => Math.floor(i / size) * hop + (i % size)),
  };
}

const windowValue = (g: OpBuilder, x: Value, window: readonly number[]): Value =>
  g.constant(hostTensor(plainDType(g.typeOf(x).dtype, "window"), [window.length], window));

/** The spectra [.., frames, 2(⌊size/2⌋ + 1)] of the whole frames of a signal [.., S], each times the window. */
export function stft(g: OpBuilder, x: Value, frames: Frames): Value {
  const { places, window, count } = framesOf("stft", lastSize(g, x, "stft"), frames);
  const indices = g.constant(hostTensor("i32", [count, frames.size], places));
  const cutOut = g.gather([x, indices], { axis: g.typeOf(x).shape.length - 1 });
  return rfft(g, g.mul([cutOut, windowValue(g, x, window)]));
}

/** The signal [.., length] of such spectra: frames times the window are added, and divided by what the windows add up to. */
export function istft(g: OpBuilder, spectra: Value, frames: Frames & { readonly length: number }): Value {
  const { length } = frames;
  const { places, window, count } = framesOf("istft", length, frames);
  const shape = g.typeOf(spectra).shape.slice(0, -2);
  const parts = g.mul([irfft(g, spectra, frames.size), windowValue(g, spectra, window)]);
  const flat = g.reshape([parts], { shape: [...shape, count * frames.size] });
  const indices = g.constant(hostTensor("i32", [places.length], places));
  const sum = g.scatter_add([flat, indices], { axis: shape.length, size: length });
  const weights = new Float64Array(length);
  places.forEach((place, i) => (weights[place] = (weights[place] ?? 0) + (window[i % frames.size] ?? 0) ** 2));
  // Where no window reaches there is nothing to divide.
  const total = windowValue(
    g,
    spectra,
    Array.from(weights, (weight) => (weight > 1e-10 ? weight : 1)),
  );
  return g.div([sum, total]);
}
