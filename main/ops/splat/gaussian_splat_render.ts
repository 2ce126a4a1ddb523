import { REALS, cpuKernel } from "../../backends/cpu/rules.ts";
import type { Op, Sample, SampleInput } from "../defineOp.ts";
import { decomposed, defineOp, unsupported } from "../defineOp.ts";
import type { Dim } from "../../ir/dim.ts";
import { normal, sample, uniform, values, withDoubles } from "../families/samples.ts";
import { SPLAT_ORACLE } from "../families/splat/oracle.ts";
import { splatParts } from "../families/splat/parts.ts";
import { renderSplats } from "../families/splat/render.ts";
import type { SplatAttrs } from "../families/splat/scene.ts";
import { SPLAT_OPERANDS, splatSchema, splatTypes, usual } from "../families/splat/scene.ts";

/** From (0.4, 0.3, -3) to the middle, upwards along y, an angle of 0.9; near 0.1, far 50; a dark blue ground. */
const CAMERA = [0.4, 0.3, -3, 0, 0.1, 0, 0, 1, 0, 0.9, 0.1, 50, 0.05, 0.1, 0.2];

/** Splats about the middle of the picture, of a tenth to a third of a unit. */
const splats = (seed: number, count: Dim, coefficients: number, camera = CAMERA): readonly SampleInput[] => [
  normal(seed, [count, 3], 0.5),
  uniform(seed + 1, [count, 3], -2.5, -1),
  uniform(seed + 2, [count, 4], 0.2, 1),
  normal(seed + 3, [count], 1),
  uniform(seed + 4, [count, 3], 0.2, 0.9),
  normal(seed + 5, [count, coefficients, 3], 0.1),
  values(camera),
];

/** One splat more behind the eye, one that is no number, and one in between whose colour is none. */
function broken(): readonly SampleInput[] {
  const number = NaN;
  const positions = [0.1, 0.2, 0, 0.3, 0.2, -6, number, 0, 0, 0, 0.1, 0.4, 0.1, 0, 0.2];
  const shared = (one: readonly number[]): number[] => positions.slice(0, 5).flatMap(() => [...one]);
  const colours = [
    ...[0.9, 0.3, 0.2],
    ...[0.5, 0.5, 0.5],
    ...[0.2, 0.3, 0.4],
    ...[0.3, number, 0.1],
    ...[0.2, 0.7, 0.4],
  ];
  return [
    values(positions, [5, 3]),
    values(shared([-1.5, -1.2, -2]), [5, 3]),
    values(shared([0.1, 0.2, 0.3, 0.9]), [5, 4]),
    values([0.5, 1, 1, 1, -0.5], [5]),
    values(colours, [5, 3]),
    values([], [5, 0, 3]),
    values([...CAMERA, 1, 2, 3, 4, 5, 6, 7, 8]),
  ];
}

const cases: readonly [Sample<SplatAttrs>, ...Sample<SplatAttrs>[]] = [
  sample("odd sizes, a harmonic", splats(1, 3, 1), { width: 7, height: 5, tileSize: 4 }),
  sample("every degree, the numbers that pixels end at", splats(11, 4, 16), {
    ...{ width: 6, height: 9, tileSize: 3, radiusScale: 0.6, alphaCutoff: 0.02 },
    ...{ maxSplatSteps: 2, transmittanceThreshold: 0.4, maxListEntries: 3 },
  }),
  sample("symbolic, no harmonics", splats(21, "N", 0), { width: 5, height: 4 }, { bindings: { N: 5 } }),
  sample("behind the eye, and no numbers", broken(), { width: 5, height: 5, tileSize: 2 }, { differentiable: false }),
  sample("no splats", splats(31, 0, 4), { width: 3, height: 3 }),
  sample("the usual numbers", splats(41, 9, 4), {}, { differentiable: false }),
];

export const gaussian_splat_render: Op<"gaussian_splat_render", SplatAttrs, 7> = defineOp({
  name: "gaussian_splat_render",
  summary:
    "The picture [height, width, 4] of N Gaussian splats: each is projected to an ellipse, and every pixel mixes those of its tile from the nearest on until they cover it. Red, green and blue follow the curve of sRGB, the last number is how much is covered. Absent attributes are 64 × 64 pixels, tiles of 16, radiusScale 1.6, alphaCutoff 1/255, maxSplatSteps 32, transmittanceThreshold 0.01, maxListEntries 576.",
  arity: 7,
  operands: SPLAT_OPERANDS,
  outputs: "one",
  results: ["picture"],
  attributes: splatSchema,
  infer: splatTypes,
  reference: renderSplats,
  oracle: { numpy: SPLAT_ORACLE },
  gradient: decomposed(splatParts),
  batching: decomposed(splatParts),
  traits: ["pure", "sensitive", "host"],
  backends: {
    cpu: cpuKernel("splat_render", { takes: REALS, params: (attrs) => ({ ...usual(attrs) }) }),
    coreml: unsupported(
      "each pixel has a list of its own that ends when it is covered, which Core ML has no operator for: it runs as a host segment between Core ML models",
    ),
    mlx: decomposed(splatParts),
    webgpu: decomposed(splatParts),
  },
  samples: withDoubles(cases),
});
