/**
 * The picture of splats as ordinary operations (scene.ts has the mathematics): what each splat is on the picture, all splats
 * from the nearest on, and one row of pixels after the other against all of them. So derivatives, batches and devices without
 * a kernel follow; a row of W pixels and N splats is what is held at once.
 */
import { invariant } from "../../../diagnostics/errors.ts";
import type { Dim } from "../../../ir/dim.ts";
import { plainDType } from "../../../ir/dtype.ts";
import type { Value } from "../../../ir/graph.ts";
import { hostScalar } from "../../../ir/hostTensor.ts";
import type { OpBuilder } from "../../opBuilder.ts";
import { filled, scalarLike } from "../constants.ts";
import { scanOver } from "../turns.ts";
import type { SplatAttrs, SplatOperands } from "./scene.ts";
import { CAMERA, DEVIATIONS, DILATION, MARGIN, MOST_ALPHA, SRGB, harmonicsOf, usual } from "./scene.ts";

type Triple = readonly [Value, Value, Value];

/** Short spellings over one builder; numbers are constants of the operand's type. */
function over(g: OpBuilder) {
  const value = (x: Value, y: Value | number): Value => (typeof y === "number" ? scalarLike(g, x, y) : y);
  const add = (x: Value, y: Value | number): Value => g.add([x, value(x, y)]);
  const mul = (x: Value, y: Value | number): Value => g.mul([x, value(x, y)]);
  const sub = (x: Value, y: Value | number): Value => g.sub([x, value(x, y)]);
  const is = (x: Value, op: "eq" | "gt" | "lt" | "ge" | "le", y: Value | number): Value =>
    g.compare([x, value(x, y)], { op });
  const both = (...flags: readonly Value[]): Value => flags.reduce((a, b) => g.logical_and([a, b]));
  const choose = (flag: Value, x: Value, y: Value | number): Value => g.where([flag, x, value(x, y)]);
  const sum = (x: Value, axis: number): Value => g.reduce([x], { kind: "sum", axes: [axis] });
  const shaped = (x: Value, shape: readonly Dim[]): Value => g.reshape([x], { shape });
  const part = (x: Value, axis: number, start: number, length: number): Value => g.narrow([x], { axis, start, length });
  /** Columns of a table [N, …], each [N]. */
  const column = (x: Value, start: number): Value => shaped(part(x, 1, start, 1), [g.typeOf(x).shape[0] ?? 0]);
  /** Side by side: [N] each, [N, …] together. */
  const side = (columns: readonly Value[]): Value =>
    g.concat(
      columns.map((x) => shaped(x, [...g.typeOf(x).shape, 1])),
      { axis: 1 },
    );
  return { g, add, mul, sub, is, both, choose, sum, shaped, part, column, side };
}
type Over = ReturnType<typeof over>;

const unitOf = ({ g, mul }: Over, x: Value): Value =>
  g.div([x, g.sqrt([g.reduce([mul(x, x)], { kind: "sum", axes: [g.typeOf(x).shape.length - 1], keepDims: true })])]);

function crossOf({ g, mul, sub, part }: Over, a: Value, b: Value): Value {
  const at = (x: Value, i: number): Value => part(x, 0, i % 3, 1);
  return g.concat(
    [0, 1, 2].map((i) => sub(mul(at(a, i + 1), at(b, i + 2)), mul(at(a, i + 2), at(b, i + 1)))),
    { axis: 0 },
  );
}

/** The camera's rows [3, 3], and its numbers. */
function viewOf(o: Over, camera: Value, { width, height }: Required<SplatAttrs>) {
  const { g, mul, sub, part, shaped } = o;
  const three = (start: number): Value => part(camera, 0, start, 3);
  const number = (start: number): Value => shaped(part(camera, 0, start, 1), []);
  const eye = three(CAMERA.eye);
  const forward = unitOf(o, sub(three(CAMERA.target), eye));
  const right = unitOf(o, crossOf(o, forward, three(CAMERA.up)));
  const down = crossOf(o, forward, right);
  const rows = g.concat(
    [right, down, forward].map((row) => shaped(row, [1, 3])),
    { axis: 0 },
  );
  const half = g.tan([mul(number(CAMERA.fov), 0.5)]);
  const focal = g.div([scalarLike(g, half, height / 2), half]);
  return {
    ...{ eye, rows, focal, near: number(CAMERA.near), far: number(CAMERA.far) },
    ...{ background: three(CAMERA.background), tangents: [mul(half, width / height), half] as const },
  };
}

/** The rotation of quaternions [N, 4] as [N, 3, 3]. */
function rotationsOf(o: Over, q: Value): Value {
  const { g, add, mul, sub, column, side, shaped } = o;
  const unit = unitOf(o, q);
  const [x, y, z, w] = [0, 1, 2, 3].map((i) => column(unit, i));
  invariant(x && y && z && w, "a quaternion has four numbers");
  const two = (a: Value): Value => add(a, a);
  const one = (a: Value, b: Value): Value => add(mul(two(add(mul(a, a), mul(b, b))), -1), 1);
  const [xy, xz, yz] = [mul(x, y), mul(x, z), mul(y, z)];
  const [wx, wy, wz] = [mul(w, x), mul(w, y), mul(w, z)];
  const numbers = [
    ...[one(y, z), two(sub(xy, wz)), two(add(xz, wy))],
    ...[two(add(xy, wz)), one(x, z), two(sub(yz, wx))],
    ...[two(sub(xz, wy)), two(add(yz, wx)), one(x, y)],
  ];
  return shaped(side(numbers), [g.typeOf(q).shape[0] ?? 0, 3, 3]);
}

/** Each splat on the picture, as columns: [N] each, but for the colour. */
interface Flats {
  readonly shown: Value;
  readonly depth: Value;
  readonly columns: readonly Value[];
}

function flatten(
  o: Over,
  operands: SplatOperands<Value>,
  view: ReturnType<typeof viewOf>,
  attrs: Required<SplatAttrs>,
): Flats {
  const { g, add, mul, sub, is, both, choose, sum, shaped, part, column, side } = o;
  const [positions, , , , , harmonics] = operands;
  const [count = 0] = g.typeOf(positions).shape;
  const coefficients = Number(g.typeOf(harmonics).shape[1] ?? 0);
  const sizes = [3, 3, 4, 1, 3, 3 * coefficients];
  const all = g.concat(
    operands.slice(0, 6).map((x, i) => shaped(x, [count, sizes[i] ?? 0])),
    { axis: 1 },
  );
  const broken = sum(g.cast([g.logical_not([g.is_finite([all])])], { to: "i32" }), 1);
  const [offset0, turned0] = [sub(positions, view.eye), part(all, 1, 6, 4)];
  const along = (rel: Value): Value => g.matmul([rel, g.transpose([view.rows], { perm: [1, 0] })]);
  const seenAt = column(along(offset0), 2);
  const shown = both(
    is(broken, "eq", 0),
    is(sum(mul(turned0, turned0), 1), "gt", 0),
    is(seenAt, "gt", view.near),
    is(seenAt, "gt", 0),
    is(seenAt, "lt", view.far),
  );
  // What is not shown gets numbers that do no harm, here and on the way back.
  const flag = shaped(shown, [count, 1]);
  const safe = choose(flag, all, 1);
  const offset = choose(flag, sub(part(safe, 1, 0, 3), view.eye), 1);
  const at = along(offset);
  const [depth, zero] = [choose(shown, column(at, 2), 1), scalarLike(g, at, 0)];
  const [x, y] = ([0, 1] as const).map((i) => g.div([choose(shown, column(at, i), 0), depth]));
  invariant(x && y, "a point has two places on the picture");
  const slope = g.div([view.focal, depth]);
  const within = (value: Value, most: Value): Value =>
    g.minimum([g.maximum([value, mul(most, -MARGIN)]), mul(most, MARGIN)]);
  const [sx, sy] = [within(x, view.tangents[0]), within(y, view.tangents[1])];
  const none = mul(slope, 0);
  const jacobian = shaped(side([slope, none, mul(mul(slope, sx), -1), none, slope, mul(mul(slope, sy), -1)]), [
    count,
    2,
    3,
  ]);
  const long = shaped(g.exp([part(safe, 1, 3, 3)]), [count, 1, 3]);
  const axes = g.matmul([g.matmul([jacobian, view.rows]), mul(rotationsOf(o, part(safe, 1, 6, 4)), long)]);
  const [du, dv] = ([0, 1] as const).map((i) => shaped(part(axes, 1, i, 1), [count, 3]));
  invariant(du && dv, "axes have two sides");
  const [a, b, c] = [add(sum(mul(du, du), 1), DILATION), sum(mul(du, dv), 1), add(sum(mul(dv, dv), 1), DILATION)];
  const determinant = sub(mul(a, c), mul(b, b));
  const middle = mul(add(a, c), 0.5);
  const gap = g.maximum([sub(mul(middle, middle), determinant), zero]);
  // Which splats are in a list has no derivative.
  const longest = g.stop_gradient([add(middle, g.sqrt([gap]))]);
  const radius = mul(g.sqrt([longest]), attrs.radiusScale * DEVIATIONS);
  const direction = unitOf(o, offset);
  const basis = harmonicsOf<Value>(
    { add, mul, scale: mul, one: () => filled(g, plainDType(g.typeOf(at).dtype, "splat"), [count], 1) },
    [column(direction, 0), column(direction, 1), column(direction, 2)] satisfies Triple,
    coefficients,
  );
  const colours = ([0, 1, 2] as const).map((channel) => {
    const own = basis.map((value, k) => mul(value, column(safe, 14 + 3 * k + channel)));
    const whole = own.reduce((all, one) => add(all, one), column(safe, 11 + channel));
    return g.maximum([whole, zero]);
  });
  const mean = [add(mul(view.focal, x), attrs.width / 2), add(mul(view.focal, y), attrs.height / 2)];
  const conic = [g.div([c, determinant]), mul(g.div([b, determinant]), -1), g.div([a, determinant])];
  const opacity = g.sigmoid([column(safe, 10)]);
  return { shown, depth, columns: [...mean, ...conic, opacity, radius, ...colours] };
}

const shownCurve = (o: Over, c: Value): Value => {
  const { g, is, choose, mul, add } = o;
  const { edge, slope, scale, offset, power } = SRGB;
  const dark = is(c, "le", edge);
  const bright = choose(g.logical_not([dark]), c, 1);
  return g.where([dark, mul(c, slope), add(mul(g.pow([bright, scalarLike(g, c, power)]), scale), -offset)]);
};

/** The pixels of one row, [W, 4]. */
function rowOf(
  o: Over,
  [y, top]: readonly [Value, Value],
  [table, shown, background]: Triple,
  attrs: Required<SplatAttrs>,
): Value {
  const { g, add, mul, sub, is, both, choose, sum, shaped, part, column } = o;
  const { width, tileSize } = attrs;
  const { dtype, shape } = g.typeOf(table);
  const [count = 0] = shape;
  const [u, v, a, b, c, opacity, radius] = [0, 1, 2, 3, 4, 5, 6].map((i) => shaped(column(table, i), [1, count]));
  invariant(u && v && a && b && c && opacity && radius, "a splat on the picture has seven numbers and a colour");
  const places = g.cast([g.iota([], { shape: [width, 1], axis: 0 })], { to: plainDType(dtype, "splat") });
  const left = mul(g.floor([mul(add(places, 0.5), 1 / tileSize)]), tileSize);
  const [dx, dy] = [sub(u, add(places, 0.5)), sub(v, add(y, 0.5))];
  const square = add(add(mul(mul(a, dx), dx), mul(mul(mul(b, dx), dy), 2)), mul(mul(c, dy), dy));
  const alpha = g.minimum([mul(opacity, g.exp([mul(square, -0.5)])), scalarLike(g, square, MOST_ALPHA)]);
  const meets = both(
    ...[shaped(shown, [1, count]), is(add(u, radius), "gt", left), is(sub(u, radius), "lt", add(left, tileSize))],
    ...[is(add(v, radius), "gt", top), is(sub(v, radius), "lt", add(top, tileSize))],
  );
  const counted = (flags: Value, most: number): Value =>
    is(g.cumsum([g.cast([flags], { to: "i32" })], { axis: 1, exclusive: false, reverse: false }), "le", most);
  const listed = both(meets, counted(meets, attrs.maxListEntries), is(alpha, "ge", attrs.alphaCutoff));
  const kept = choose(both(listed, counted(listed, attrs.maxSplatSteps)), alpha, 0);
  // T before each splat; it falls, so that what is behind the end stays behind it.
  const logs = g.cumsum([g.log1p([mul(kept, -1)])], { axis: 1, exclusive: true, reverse: false });
  const before = g.exp([logs]);
  const weights = choose(is(before, "ge", attrs.transmittanceThreshold), mul(kept, before), 0);
  const rest = add(mul(shaped(sum(weights, 1), [width, 1]), -1), 1);
  const lit = add(g.matmul([weights, part(table, 1, 7, 3)]), mul(rest, shaped(background, [1, 3])));
  return g.concat([shownCurve(o, lit), add(mul(rest, -1), 1)], { axis: 1 });
}

export function splatParts(g: OpBuilder, operands: SplatOperands<Value>, given: SplatAttrs): Value {
  const attrs = usual(given);
  const o = over(g);
  const camera = operands[6];
  const dtype = plainDType(g.typeOf(camera).dtype, "splat");
  const view = viewOf(o, camera, attrs);
  const { shown, depth, columns } = flatten(o, operands, view, attrs);
  const behind = g.constant(hostScalar(dtype, Infinity));
  const order = g.argsort([g.where([shown, depth, behind])], { axis: 0, descending: false });
  const table = g.gather([o.side(columns), order], { axis: 0 });
  const flags = g.gather([shown, order], { axis: 0 });
  const rows = g.cast([g.iota([], { shape: [attrs.height], axis: 0 })], { to: dtype });
  const tops = o.mul(g.floor([o.mul(o.add(rows, 0.5), 1 / attrs.tileSize)]), attrs.tileSize);
  const made = scanOver(
    g,
    { fixed: [table, flags, view.background], rows: [rows, tops], label: "row" },
    (h, { fixed: [all, seen, background], rows: [y, top] }) => {
      invariant(all && seen && background && y && top, "a row has its splats");
      return { carry: [], rows: [rowOf(over(h), [y, top], [all, seen, background], attrs)] };
    },
  );
  const [picture] = made.rows;
  invariant(picture, "rows make a picture");
  return picture;
}
