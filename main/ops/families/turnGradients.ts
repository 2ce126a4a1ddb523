/**
 * Backwards through a `scan`: another scan in the other direction, which carries the gradients of what is carried and the
 * sums of those of what stays. It reads the carried values as they were before each turn: rows that the scan itself
 * gives, or gives when it is run once more. With checkpoints, a scan becomes one over segments of turns: only the values
 * before each segment are kept, and the gradient of a segment works out its turns again.
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import { isFloat } from "../../ir/dtype.ts";
import type { Graph, Value } from "../../ir/graph.ts";
import { inlineGraph } from "../../ir/nested.ts";
import type { NodeInfo } from "../../ir/nodeInfo.ts";
import { regionInputs } from "../../ir/regions.ts";
import type { AnyNumber, VjpContext } from "../defineOp.ts";
import type { OpBuilder } from "../opBuilder.ts";
import { filledLike } from "./constants.ts";
import { regionAt } from "./control.ts";
import type { ScanAttrs } from "./turns.ts";
import { keepingCarries, scanLists, scanOver } from "./turns.ts";

type Context = VjpContext<ScanAttrs, AnyNumber>;

/** For each carried value the result that holds it before each turn; undefined where the body gives none. */
function keptCarries(body: Graph, carried: number): readonly (number | undefined)[] {
  return body.inputs.slice(0, carried).map((input) => {
    const place = body.outputs.findIndex(({ value }, i) => i >= carried && value.node === input);
    return place < 0 ? undefined : place;
  });
}

/** The carried values before each turn, one above the other. */
function carriesOf({ g, inputs, outputs, attrs, node }: Context): readonly Value[] {
  const body = regionAt(node.regions, 0);
  const kept = keptCarries(body, attrs.carried).flatMap((place) => (place === undefined ? [] : [outputs[place]]));
  const found = kept.filter((value) => value !== undefined);
  if (found.length === attrs.carried) return found;
  const again = keepingCarries(g, body, regionInputs(body), attrs.carried);
  return g.scan(inputs, attrs, "carried values", [again]).slice(outputs.length);
}

export function scanGradient(context: Context): readonly (Value | undefined)[] {
  const { g, inputs, cotangents, wanted, attrs, node, gradientOf } = context;
  const { carried, scanned, length, reverse, checkpoints } = attrs;
  const rowsAt = inputs.length - scanned;
  const floats = node.inputs.flatMap(({ dtype }, i) =>
    isFloat(dtype) && (i < carried || wanted[i] === true) ? [i] : [],
  );
  const moved = floats.filter((i) => i < carried);
  const fixed = floats.filter((i) => i >= carried && i < rowsAt);
  const rows = floats.filter((i) => i >= rowsAt);
  const given = cotangents.flatMap((ct, i) => (i >= carried && ct !== undefined ? [i] : []));
  const pulled = gradientOf(regionAt(node.regions, 0), [...moved, ...given], [...moved, ...fixed, ...rows]);
  const operands = scanLists(inputs, attrs);
  const before = carriesOf(context);
  const made = scanOver(
    g,
    {
      carry: [
        ...moved.map((i) => cotangents[i] ?? filledLike(g, valueAt(inputs, i), 0)),
        ...fixed.map((i) => filledLike(g, valueAt(inputs, i), 0)),
      ],
      fixed: operands.fixed,
      rows: [...before, ...operands.rows, ...given.map((i) => valueAt(cotangents, i))],
      ...{ length, reverse: !reverse, label: "gradient" },
      ...(checkpoints !== undefined && { checkpoints }),
    },
    (h, turn) => {
      const own = turn.rows.slice(0, carried + scanned);
      const values = [...own.slice(0, carried), ...turn.fixed, ...own.slice(carried)];
      const seeds = [...turn.carry.slice(0, moved.length), ...turn.rows.slice(carried + scanned)];
      const results = inlineGraph(h.graph, pulled, [...values, ...seeds]);
      const sums = turn.carry.slice(moved.length).map((sum, i) => h.add([sum, valueAt(results, moved.length + i)]));
      return { carry: [...results.slice(0, moved.length), ...sums], rows: results.slice(moved.length + fixed.length) };
    },
  );
  const gradients = [...made.carry, ...made.rows];
  const places = [...moved, ...fixed, ...rows];
  return inputs.map((_, i) => gradients[places.indexOf(i)]);
}

function valueAt(values: readonly (Value | undefined)[], index: number): Value {
  const value = values[index];
  invariant(value, `[scan] nothing at ${index}`);
  return value;
}

const hasSegments = ({ length, checkpoints }: ScanAttrs): boolean =>
  typeof length === "number" && checkpoints !== undefined && checkpoints < length;

/** Whether a gradient would have to run the scan a second time as it is. */
export function needsScanForGradient({ attrs, regions }: NodeInfo<ScanAttrs>): boolean {
  return hasSegments(attrs) || keptCarries(regionAt(regions, 0), attrs.carried).includes(undefined);
}

/** The scan with what is carried among its results; where it has checkpoints, over segments. */
export function scanForGradient(
  g: OpBuilder,
  inputs: readonly Value[],
  { attrs, outputs, regions }: NodeInfo<ScanAttrs>,
): readonly Value[] {
  const body = regionAt(regions, 0);
  const { carried, length, checkpoints } = attrs;
  if (typeof length === "number" && checkpoints !== undefined && checkpoints < length)
    return inSegments(g, inputs, { ...attrs, length, checkpoints }, body);
  const kept = keepingCarries(g, body, regionInputs(body), carried);
  return g.scan(inputs, attrs, undefined, [kept]).slice(0, outputs.length);
}

interface Segmented extends ScanAttrs {
  readonly length: number;
  readonly checkpoints: number;
}

/** A scan over `checkpoints` segments at most; a shorter one is the last to run. */
function inSegments(g: OpBuilder, inputs: readonly Value[], attrs: Segmented, body: Graph): readonly Value[] {
  const { length, checkpoints, reverse } = attrs;
  const size = Math.ceil(length / checkpoints);
  const count = Math.floor(length / size);
  const rest = length - count * size;
  const { carry, fixed, rows } = scanLists(inputs, attrs);
  const part = (start: number, turns: number): readonly Value[] =>
    rest === 0 ? rows : rows.map((x) => g.narrow([x], { axis: 0, start, length: turns }));
  const whole = part(reverse ? rest : 0, count * size);
  const first = segments(g, { carry, fixed, rows: whole }, { count, size, reverse }, body);
  if (rest === 0) return [...first.carry, ...first.rows];
  const last = segments(
    g,
    { carry: first.carry, fixed, rows: part(reverse ? 0 : count * size, rest) },
    { count: 1, size: rest, reverse },
    body,
  );
  const joined = first.rows.map((x, i) => {
    const other = valueAt(last.rows, i);
    return g.concat(reverse ? [other, x] : [x, other], { axis: 0 });
  });
  return [...last.carry, ...joined];
}

interface Segments {
  readonly count: number;
  readonly size: number;
  readonly reverse: boolean;
}

/** The outer scan gives its carried values, too; the inner one does when the outer body is differentiated. */
function segments(
  g: OpBuilder,
  lists: { readonly [K in "carry" | "fixed" | "rows"]: readonly Value[] },
  { count, size, reverse }: Segments,
  body: Graph,
): { readonly carry: readonly Value[]; readonly rows: readonly Value[] } {
  const { carry, fixed } = lists;
  const split = (x: Value, sizes: readonly Dim[], from: number): Value =>
    g.reshape([x], { shape: [...sizes, ...g.typeOf(x).shape.slice(from)] });
  const rows = lists.rows.map((x) => split(x, [count, size], 1));
  const outer = scanOver(
    g,
    { carry, fixed, rows, length: count, reverse, checkpoints: count, label: "segment" },
    (h, turn) => {
      const made = h.scan(
        [...turn.carry, ...turn.fixed, ...turn.rows],
        { carried: carry.length, scanned: rows.length, length: size, reverse, checkpoints: size },
        undefined,
        [body],
      );
      return { carry: made.slice(0, carry.length), rows: [...made.slice(carry.length), ...turn.carry] };
    },
  );
  const given = outer.rows.slice(0, outer.rows.length - carry.length);
  return { carry: outer.carry, rows: given.map((x) => split(x, [count * size], 2)) };
}
