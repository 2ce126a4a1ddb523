/**
 * Gaussian splats: what the op gets, its numbers, and the mathematics that reference, parts and kernel share (Kerbl et al. 2023,
 * "3D Gaussian Splatting", after Zwicker et al. 2001). All sizes are pixels, pixel (i, j) is at (j + ½, i + ½).
 *
 *   camera   forward f = target - eye, right r = f × up, down d = f × r, each of length 1; the rows of W are r, d, f.
 *            (X, Y, Z) = W (position - eye); focal length F = H / (2 tan(fov / 2)), fov the vertical angle in radians.
 *   mean     (u, v) = (F X / Z + W/2, F Y / Z + H/2)
 *   shape    Σ = R S S Rᵀ with R of the quaternion x, y, z, w made of length 1 and S = diag(e^log_scale).
 *            Σ' = J W Σ Wᵀ Jᵀ + 0.3 · 1 with J = F/Z (1, 0, -x; 0, 1, -y), x = X/Z and y = Y/Z kept within 1.3 times the
 *            tangents of the picture's half angles. The conic is Σ'⁻¹.
 *   colour   max(0, colour + Σ_k Y_k(direction from the eye) · harmonics_k), real spherical harmonics of degree 0 to 3.
 *   lists    A splat is in the list of a tile where the square around its mean, of radius_scale · 3 · the longer standard
 *            deviation to each side, meets the tile. Lists go from the nearest to the farthest splat, of equals the first
 *            first, and end after max_list_entries.
 *   pixel    α = min(0.99, σ(opacity) · exp(-½ δᵀ conic δ)) with δ = mean - pixel. Down the list, what has α < alpha_cutoff is
 *            passed over; colour += α T colour, T ← (1 - α) T; after max_splat_steps splats, or as soon as
 *            T < transmittance_threshold, the pixel is done. What is left of T shows the background.
 *   result   red, green, blue in the transfer curve of sRGB, and 1 - T.
 *
 * Not drawn: a splat with a number that is not finite, without a rotation, or not between near and far in front of the eye.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { AttrSchema } from "../../../ir/attributes.ts";
import { attr } from "../../../ir/attributes.ts";
import { isFloat, plainDType } from "../../../ir/dtype.ts";
import type { TensorType } from "../../../ir/type.ts";
import { formatType, sameShape, tensor } from "../../../ir/type.ts";
import type { InputsOf } from "../../defineOp.ts";

/** Those that are absent have their usual values (`usual`). */
export interface SplatAttrs {
  readonly width?: number;
  readonly height?: number;
  readonly tileSize?: number;
  readonly radiusScale?: number;
  readonly alphaCutoff?: number;
  readonly maxSplatSteps?: number;
  readonly transmittanceThreshold?: number;
  readonly maxListEntries?: number;
}

export const splatSchema: AttrSchema<SplatAttrs> = {
  width: attr.optional(attr.int(1, 1 << 14)),
  height: attr.optional(attr.int(1, 1 << 14)),
  tileSize: attr.optional(attr.int(1, 1 << 14)),
  radiusScale: attr.optional(attr.float()),
  alphaCutoff: attr.optional(attr.float()),
  maxSplatSteps: attr.optional(attr.int(1)),
  transmittanceThreshold: attr.optional(attr.float()),
  maxListEntries: attr.optional(attr.int(1)),
};

export const usual = (attrs: SplatAttrs): Required<SplatAttrs> => ({
  width: attrs.width ?? 64,
  height: attrs.height ?? 64,
  tileSize: attrs.tileSize ?? 16,
  radiusScale: attrs.radiusScale ?? 1.6,
  alphaCutoff: attrs.alphaCutoff ?? 1 / 255,
  maxSplatSteps: attrs.maxSplatSteps ?? 32,
  transmittanceThreshold: attrs.transmittanceThreshold ?? 0.01,
  maxListEntries: attrs.maxListEntries ?? 576,
});

export const SPLAT_OPERANDS = [
  "positions",
  "log_scales",
  "rotations",
  "opacities",
  "colours",
  "harmonics",
  "camera",
] as const;
export type SplatOperands<T> = InputsOf<7, T>;

/** Added to the variances: a splat is never thinner than about a pixel. */
export const DILATION = 0.3;
export const MOST_ALPHA = 0.99;
/** How far beyond the edge of the picture the slope of the projection follows a mean. */
export const MARGIN = 1.3;
/** Standard deviations to each side, times radius_scale. */
export const DEVIATIONS = 3;
/** Coefficients of degree 0 to 3; none. */
const HARMONICS: readonly (number | string)[] = [0, 1, 4, 9, 16];
/** Eye, target, up, fov, near, far, background; and behind them, where they are, the eight attributes, which are not read. */
export const CAMERA = { eye: 0, target: 3, up: 6, fov: 9, near: 10, far: 11, background: 12 } as const;
const CAMERA_SIZES: readonly (number | string)[] = [15, 23];

export function splatTypes(types: SplatOperands<TensorType>, attrs: SplatAttrs): TensorType {
  const [positions, scales, rotations, opacities, colours, harmonics, camera] = types;
  const [count = 0] = positions.shape;
  const [, coefficients = 0] = harmonics.shape;
  const [numbers = 0] = camera.shape;
  const fits =
    sameShape(positions.shape, [count, 3]) &&
    sameShape(scales.shape, [count, 3]) &&
    sameShape(rotations.shape, [count, 4]) &&
    sameShape(opacities.shape, [count]) &&
    sameShape(colours.shape, [count, 3]) &&
    sameShape(harmonics.shape, [count, coefficients, 3]) &&
    HARMONICS.includes(coefficients) &&
    sameShape(camera.shape, [numbers]) &&
    CAMERA_SIZES.includes(numbers);
  if (!fits || !isFloat(positions.dtype) || types.some(({ dtype }) => dtype !== positions.dtype))
    throw new WorkbenchError(
      "IR_SHAPE",
      `[gaussian_splat_render] got ${types.map(formatType).join(", ")}; expected floats [N, 3], [N, 3], [N, 4], [N], [N, 3], [N, ${HARMONICS.join(" or ")}, 3], [${CAMERA_SIZES.join(" or ")}]`,
    );
  const { width, height, radiusScale, alphaCutoff, transmittanceThreshold } = usual(attrs);
  const ranges = {
    radiusScale: [radiusScale, 1e3],
    alphaCutoff: [alphaCutoff, 1],
    transmittanceThreshold: [transmittanceThreshold, 1],
  };
  for (const [name, [value = 0, most = 0]] of Object.entries(ranges))
    if (!(value >= 0 && value <= most))
      throw new WorkbenchError("IR_ATTRIBUTE", `[gaussian_splat_render] ${name}: got ${value}, expected 0 to ${most}`);
  return tensor(plainDType(positions.dtype, "gaussian_splat_render"), [height, width, 4]);
}

const term = (numerator: number, denominator: number): number => Math.sqrt(numerator / (denominator * Math.PI));
const [FIRST, SECOND, THIRD] = [term(3, 4), term(15, 4), term(105, 4)];
/** What the harmonics of degree 0 to 3 are written over: numbers of the reference, values of a graph. */
export interface Arithmetic<T> {
  readonly add: (a: T, b: T) => T;
  readonly mul: (a: T, b: T) => T;
  readonly scale: (a: T, by: number) => T;
  readonly one: () => T;
}

/** The first `count` real spherical harmonics in a direction of length 1, in their usual order and signs. */
export function harmonicsOf<T>(
  { add, mul, scale, one }: Arithmetic<T>,
  [x, y, z]: readonly [T, T, T],
  count: number,
): T[] {
  const degrees: readonly (() => readonly T[])[] = [
    () => [scale(one(), term(1, 4))],
    () => [scale(y, -FIRST), scale(z, FIRST), scale(x, -FIRST)],
    () => {
      const [xx, yy, zz] = [mul(x, x), mul(y, y), mul(z, z)];
      return [
        scale(mul(x, y), SECOND),
        scale(mul(y, z), -SECOND),
        scale(add(add(zz, zz), scale(add(xx, yy), -1)), term(5, 16)),
        scale(mul(x, z), -SECOND),
        scale(add(xx, scale(yy, -1)), SECOND / 2),
      ];
    },
    () => {
      const [xx, yy, zz] = [mul(x, x), mul(y, y), mul(z, z)];
      const around = add(scale(zz, 4), scale(add(xx, yy), -1));
      return [
        scale(mul(y, add(scale(xx, 3), scale(yy, -1))), -term(35, 32)),
        scale(mul(mul(x, y), z), THIRD),
        scale(mul(y, around), -term(21, 32)),
        scale(mul(z, add(scale(zz, 2), scale(add(xx, yy), -3))), term(7, 16)),
        scale(mul(x, around), -term(21, 32)),
        scale(mul(z, add(xx, scale(yy, -1))), THIRD / 2),
        scale(mul(x, add(xx, scale(yy, -3))), -term(35, 32)),
      ];
    },
  ];
  const all: T[] = [];
  for (const degree of degrees) if (all.length < count) all.push(...degree());
  return all;
}

/** The transfer curve of sRGB (IEC 61966-2-1): c ≤ edge is a line, what is above a power. */
export const SRGB = { edge: 0.0031308, slope: 12.92, scale: 1.055, offset: 0.055, power: 1 / 2.4 } as const;
