// Transforms over the op fft, against NumPy's, and there and back again.
import { describe, expect, it } from "vitest";
import type { Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { finish } from "../ir/steps.ts";
import { evaluate } from "../ops/evaluate.ts";
import type { OpBuilder } from "../ops/opBuilder.ts";
import { numpyEval, oracleMissing, tensor } from "../testing/oracle.ts";
import { seededRandom } from "../testing/random.ts";
import { buildGraph } from "./graphs.ts";
import { fft2, irfft, istft, rfft, stft } from "./spectra.ts";

const random = seededRandom(11);
const normal = (shape: readonly number[]): HostTensor =>
  hostTensor(
    "f64",
    shape,
    Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () => random.normal()),
  );

function run(x: HostTensor, build: (g: OpBuilder, x: Value) => Value): HostTensor {
  const graph = buildGraph("spectra", (g) => g.output("y", build(g, g.input("x", { dtype: "f64", shape: x.shape }))));
  return finish(evaluate(graph, { inputs: { x } })).outputs["y"]!;
}

const BLOCK = `
def z(x):
    return x[..., : x.shape[-1] // 2] + 1j * x[..., x.shape[-1] // 2 :]

def block(z):
    return np.concatenate([np.real(z), np.imag(z)], -1)

def frames(x, size, hop):
    return np.lib.stride_tricks.sliding_window_view(x, size, -1)[..., ::hop, :] * scipy.signal.get_window("hann", size)
`.trim();

const missing = oracleMissing();
describe.skipIf(missing)(`transforms against NumPy and SciPy ${missing ?? ""}`, () => {
  const CASES: readonly (readonly [string, HostTensor, (g: OpBuilder, x: Value) => Value, string])[] = [
    ["rfft of an odd size", normal([3, 7]), (g, x) => rfft(g, x), "block(np.fft.rfft(x))"],
    ["rfft of an even size", normal([8]), (g, x) => rfft(g, x, "ortho"), "block(np.fft.rfft(x, norm='ortho'))"],
    ["irfft to an odd size", normal([2, 8]), (g, x) => irfft(g, x, 7), "np.fft.irfft(z(x), 7)"],
    [
      "irfft to an even size",
      normal([10]),
      (g, x) => irfft(g, x, 8, "forward"),
      "np.fft.irfft(z(x), 8, norm='forward')",
    ],
    ["irfft to one number", normal([3, 2]), (g, x) => irfft(g, x, 1), "np.fft.irfft(z(x), 1)"],
    [
      "fft2",
      normal([2, 3, 10]),
      (g, x) => fft2(g, x, { inverse: false, norm: "backward" }),
      "block(np.fft.fft2(z(x)))",
    ],
    ["ifft2", normal([4, 6]), (g, x) => fft2(g, x, { inverse: true, norm: "backward" }), "block(np.fft.ifft2(z(x)))"],
    ["stft", normal([2, 23]), (g, x) => stft(g, x, { size: 8, hop: 3 }), "block(np.fft.rfft(frames(x, 8, 3)))"],
  ];
  it.each(CASES)("%s", async (_, x, build, python) => {
    const [wanted] = await numpyEval(`${BLOCK}\n\n${python}`, { x: tensor("f64", x.shape, x.data) });
    const made = run(x, build);
    expect(made.shape).toEqual(wanted!.shape);
    made.data.forEach((value, i) => expect(value).toBeCloseTo(wanted!.data[i]!, 10));
  });
});

it("gives a signal back where windows overlap", () => {
  const x = normal([2, 24]);
  const frames = { size: 8, hop: 4 };
  const back = run(x, (g, value) => istft(g, stft(g, value, frames), { ...frames, length: 24 }));
  // The first number of all has a window of 0.
  const inside = (data: Float64Array, i: number): boolean => i % 24 > 0 && data.length > i;
  back.data.forEach((value, i) => inside(back.data, i) && expect(value).toBeCloseTo(x.data[i]!, 10));
});

it("refuses frames that do not fit, and sizes that are no numbers", () => {
  expect(() => run(normal([6]), (g, x) => stft(g, x, { size: 8, hop: 3 }))).toThrow("[stft] frames: got 8 numbers");
  expect(() => run(normal([6]), (g, x) => irfft(g, x, 7))).toThrow("expected 4 or 5");
});
