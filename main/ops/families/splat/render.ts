/** The picture of splats in float64, splat by splat and pixel by pixel: the meaning of `gaussian_splat_render` (scene.ts). */
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { hostTensor } from "../../../ir/hostTensor.ts";
import { at } from "../host.ts";
import type { SplatAttrs, SplatOperands } from "./scene.ts";
import { CAMERA, DEVIATIONS, DILATION, MARGIN, MOST_ALPHA, SRGB, harmonicsOf, usual } from "./scene.ts";

type Vector = readonly [number, number, number];

const vector = (data: ArrayLike<number>, start: number): Vector => [
  at(data, start),
  at(data, start + 1),
  at(data, start + 2),
];
const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a: Vector, b: Vector): Vector => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
function unit(a: Vector): Vector {
  const length = Math.sqrt(dot(a, a));
  return [a[0] / length, a[1] / length, a[2] / length];
}

interface View {
  readonly eye: Vector;
  readonly rows: readonly [right: Vector, down: Vector, forward: Vector];
  readonly near: number;
  readonly far: number;
  readonly focal: number;
  /** Tangents of the half angles. */
  readonly tangents: readonly [x: number, y: number];
}

function viewOf(camera: ArrayLike<number>, width: number, height: number): View {
  const eye = vector(camera, CAMERA.eye);
  const forward = unit(minus(vector(camera, CAMERA.target), eye));
  const right = unit(cross(forward, vector(camera, CAMERA.up)));
  const half = Math.tan(at(camera, CAMERA.fov) / 2);
  return {
    eye,
    rows: [right, cross(forward, right), forward],
    near: at(camera, CAMERA.near),
    far: at(camera, CAMERA.far),
    focal: height / 2 / half,
    tangents: [(half * width) / height, half],
  };
}

/** What a splat is on the picture. */
interface Flat {
  readonly depth: number;
  readonly mean: readonly [u: number, v: number];
  readonly conic: readonly [a: number, b: number, c: number];
  readonly opacity: number;
  readonly colour: Vector;
  readonly radius: number;
}

/** The columns of R S: the half axes of the splat. */
function axesOf(
  [x, y, z, w]: readonly [number, number, number, number],
  scale: Vector,
): readonly [Vector, Vector, Vector] {
  const columns: readonly [Vector, Vector, Vector] = [
    [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
    [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
    [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
  ];
  const long = ([a, b, c]: Vector, by: number): Vector => [a * by, b * by, c * by];
  return [long(columns[0], scale[0]), long(columns[1], scale[1]), long(columns[2], scale[2])];
}

const NUMBERS = {
  add: (a: number, b: number) => a + b,
  mul: (a: number, b: number) => a * b,
  scale: (a: number, by: number) => a * by,
  one: () => 1,
};

const within = (x: number, most: number): number => Math.min(Math.max(x, -most), most);

function flatten(
  data: SplatOperands<HostTensor>,
  n: number,
  view: View,
  attrs: Required<SplatAttrs>,
): Flat | undefined {
  const [positions, scales, rotations, opacities, colours, harmonics] = data;
  const coefficients = harmonics.shape[1] ?? 0;
  const own = data.slice(0, 6).flatMap(({ data: all, shape: [, ...rest] }) => {
    const size = rest.reduce((a, b) => a * b, 1);
    return [...all.subarray(n * size, (n + 1) * size)];
  });
  const [qx, qy, qz, qw] = rotations.data.subarray(4 * n, 4 * n + 4);
  const q = [qx ?? 0, qy ?? 0, qz ?? 0, qw ?? 0] as const;
  const length = Math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  const offset = minus(vector(positions.data, 3 * n), view.eye);
  const [right, down, forward] = view.rows;
  const depth = dot(forward, offset);
  const seen = depth > view.near && depth > 0 && depth < view.far;
  if (!seen || length === 0 || !own.every(Number.isFinite)) return undefined;
  const [x, y] = [dot(right, offset) / depth, dot(down, offset) / depth];
  const { focal, tangents } = view;
  const slope = focal / depth;
  const [sx, sy] = [within(x, MARGIN * tangents[0]), within(y, MARGIN * tangents[1])];
  const scale = vector(scales.data, 3 * n);
  const axes = axesOf(
    [q[0] / length, q[1] / length, q[2] / length, q[3] / length],
    [Math.exp(scale[0]), Math.exp(scale[1]), Math.exp(scale[2])],
  );
  let [a, b, c] = [DILATION, 0, DILATION];
  for (const axis of axes) {
    const away = dot(forward, axis);
    const [du, dv] = [slope * (dot(right, axis) - sx * away), slope * (dot(down, axis) - sy * away)];
    [a, b, c] = [a + du * du, b + du * dv, c + dv * dv];
  }
  const determinant = a * c - b * b;
  const middle = (a + c) / 2;
  const longest = middle + Math.sqrt(Math.max(middle * middle - determinant, 0));
  const basis = harmonicsOf(NUMBERS, unit(offset), coefficients);
  const colour = ([0, 1, 2] as const).map((channel) => {
    const extra = basis.reduce(
      (sum, value, k) => sum + value * at(harmonics.data, (n * coefficients + k) * 3 + channel),
      0,
    );
    return Math.max(0, at(colours.data, 3 * n + channel) + extra);
  });
  return {
    depth,
    mean: [focal * x + attrs.width / 2, focal * y + attrs.height / 2],
    conic: [c / determinant, -b / determinant, a / determinant],
    opacity: 1 / (1 + Math.exp(-at(opacities.data, n))),
    colour: vector(colour, 0),
    radius: attrs.radiusScale * DEVIATIONS * Math.sqrt(longest),
  };
}

const { edge, slope, scale, offset, power } = SRGB;
const shown = (c: number): number => (c <= edge ? slope * c : scale * c ** power - offset);

/** One pixel: red, green, blue and opacity. */
function pixelOf(
  list: readonly Flat[],
  px: number,
  py: number,
  background: Vector,
  attrs: Required<SplatAttrs>,
): number[] {
  const sum = [0, 0, 0];
  let [left, steps] = [1, 0];
  for (const { mean, conic, opacity, colour } of list) {
    const [dx, dy] = [mean[0] - px, mean[1] - py];
    const distance = conic[0] * dx * dx + 2 * conic[1] * dx * dy + conic[2] * dy * dy;
    const alpha = Math.min(MOST_ALPHA, opacity * Math.exp(-distance / 2));
    // Not a number is passed over, too.
    if (!(alpha >= attrs.alphaCutoff)) continue;
    for (let i = 0; i < 3; i++) sum[i] = at(sum, i) + alpha * left * at(colour, i);
    left *= 1 - alpha;
    steps++;
    if (left < attrs.transmittanceThreshold || steps >= attrs.maxSplatSteps) break;
  }
  return [...sum.map((own, i) => shown(own + left * at(background, i))), 1 - left];
}

export function renderSplats(data: SplatOperands<HostTensor>, given: SplatAttrs): HostTensor {
  const attrs = usual(given);
  const { width, height, tileSize } = attrs;
  const [positions] = data;
  const camera = data[6].data;
  const view = viewOf(camera, width, height);
  const background = vector(camera, CAMERA.background);
  const count = positions.shape[0] ?? 0;
  const flats = Array.from({ length: count }, (_, n) => flatten(data, n, view, attrs))
    .filter((flat) => flat !== undefined)
    .sort((a, b) => a.depth - b.depth);
  const picture = new Float64Array(width * height * 4);
  for (let top = 0; top < height; top += tileSize)
    for (let left = 0; left < width; left += tileSize) {
      const meets = ({ mean: [u, v], radius }: Flat): boolean =>
        u + radius > left && u - radius < left + tileSize && v + radius > top && v - radius < top + tileSize;
      const list = flats.filter(meets).slice(0, attrs.maxListEntries);
      for (let i = top; i < Math.min(height, top + tileSize); i++)
        for (let j = left; j < Math.min(width, left + tileSize); j++)
          picture.set(pixelOf(list, j + 0.5, i + 0.5, background, attrs), (i * width + j) * 4);
    }
  return hostTensor(positions.dtype, [height, width, 4], picture);
}
