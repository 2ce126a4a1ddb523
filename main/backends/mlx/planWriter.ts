/**
 * The bytes of a plan, as native/src/mlx/plan.cpp reads them: names, symbols and sizes, then inputs, states, weights,
 * constants, appends, graphs and outputs.
 */
import { WorkbenchError, invariant } from "../../diagnostics/errors.ts";
import type { Bindings, Dim } from "../../ir/dim.ts";
import { tensorBytes } from "../../ir/hostBytes.ts";
import { ABSENT, ByteWriter, checkAxes, PlanTables, typeCode } from "../../ir/planBytes.ts";
import { positionAxis } from "../../ir/positionAxis.ts";
import type { TensorType } from "../../ir/type.ts";
import { byteLength, staticShape } from "../../ir/type.ts";
import type { DraftBody, DraftLeaf, Leaf, MlxDraft } from "./draft.ts";
import type { MlxAttr } from "./emitter.ts";
import { growingSymbol } from "./lower.ts";

const MAGIC = 0x4d584c52;
const VERSION = 2;
/** As native/src/mlx/plan.cpp reads them. */
const MOST_AXES = 16;

type LeafOf<K extends Leaf["kind"]> = DraftLeaf & { readonly leaf: Extract<Leaf, { kind: K }> };
const leavesOf = <K extends Leaf["kind"]>(draft: MlxDraft, kind: K): readonly LeafOf<K>[] =>
  draft.leaves.filter((entry): entry is LeafOf<K> => entry.leaf.kind === kind);

export function writePlan(draft: MlxDraft, limits: Bindings): Uint8Array<ArrayBuffer> {
  const tables = new PlanTables(limits);
  const growing = growingSymbol(draft);
  const body = new ByteWriter();
  body.u32(growing === undefined ? ABSENT : tables.symbol(growing));
  const inputs = leavesOf(draft, "input");
  body.u32(inputs.length);
  for (const { value, leaf } of inputs) {
    body.u32(tables.name(leaf.name));
    writeType(body, tables, value.type);
    body.u64(draft.limits.get(leaf.name) ?? 0);
  }
  const states = leavesOf(draft, "state");
  body.u32(states.length);
  for (const { value, leaf } of states) {
    body.u32(tables.name(leaf.name));
    writeType(body, tables, value.type);
    const appended = (): boolean => draft.appends.some((append) => append.state === leaf.name);
    const isRing = leaf.rewind === "ring";
    const counts = isRing || leaf.rewind === "positions";
    body.u32((counts ? positionAxis(value.type, appended) : undefined) ?? ABSENT);
    body.u32(isRing ? 1 : 0);
  }
  const weights = leavesOf(draft, "weight");
  body.u32(weights.length);
  for (const { value, leaf } of weights) {
    if (byteLength(value.type) !== leaf.place.bytes)
      throw new WorkbenchError(
        "INPUT_MALFORMED",
        `[mlx] weight ${leaf.name} has ${leaf.place.bytes} bytes, expected ${byteLength(value.type)}`,
      );
    body.u32(tables.name(leaf.name));
    writeStatic(body, value.type);
    body.u32(leaf.place.file);
    body.u64(leaf.place.offset);
  }
  const constants = leavesOf(draft, "constant");
  body.u32(constants.length);
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const { value, leaf } of constants) {
    const bytes = tensorBytes(leaf.data);
    writeStatic(body, value.type);
    body.u64(offset);
    const padded = new Uint8Array(Math.ceil(bytes.length / 16) * 16);
    padded.set(bytes);
    parts.push(padded);
    offset += padded.length;
  }
  body.u64(offset);
  for (const part of parts) body.blob(part);
  body.u32(draft.appends.length);
  for (const append of draft.appends) {
    body.u32(inputs.findIndex(({ leaf }) => leaf.name === append.past));
    body.u32(tables.size(append.tokens));
    body.u32(tables.size(append.capacity));
    body.u32(append.reach ?? ABSENT);
  }
  const leaves = [...inputs, ...states, ...weights, ...constants];
  const results = [...draft.outputs.map(({ value }) => value), ...draft.states.map(({ next }) => next)];
  const main = { arguments: leaves.map(({ value }) => value), calls: draft.calls, results };
  body.u32(1 + draft.bodies.length);
  for (const graph of [main, ...draft.bodies]) writeGraph(body, tables, graph);
  body.u32(draft.outputs.length);
  for (const output of draft.outputs) {
    body.u32(tables.name(output.name));
    writeType(body, tables, output.value.type);
  }

  const out = new ByteWriter();
  out.u32(MAGIC);
  out.u32(VERSION);
  tables.write(out);
  out.blob(body.finish());
  return out.finish();
}

function writeType(out: ByteWriter, tables: PlanTables, type: TensorType): void {
  out.u32(typeCode(type.dtype));
  checkAxes("mlx", type, MOST_AXES);
  out.u32(type.shape.length);
  for (const dim of type.shape) out.u32(tables.size(dim));
}

function writeStatic(out: ByteWriter, type: TensorType): void {
  out.u32(typeCode(type.dtype));
  checkAxes("mlx", type, MOST_AXES);
  out.u32(type.shape.length);
  for (const size of staticShape(type, "mlx")) out.u64(size);
}

/** One graph: its arguments come first, then the results of its calls in order. */
function writeGraph(out: ByteWriter, tables: PlanTables, graph: DraftBody): void {
  const place = new Map<number, number>(graph.arguments.map(({ id }, i) => [id, i]));
  const placed = (id: number): number => {
    const index = place.get(id);
    invariant(index !== undefined, `plan value ${id} has no place`);
    return index;
  };
  out.u32(graph.arguments.length);
  out.u32(graph.calls.length);
  for (const call of graph.calls) {
    out.u32(tables.name(call.name));
    out.u32(call.inputs.length);
    for (const id of call.inputs) out.u32(placed(id));
    out.u32(call.outputs.length);
    for (const { id, type } of call.outputs) {
      place.set(id, place.size);
      writeType(out, tables, type);
    }
    const attrs = Object.entries(call.attrs);
    out.u32(attrs.length);
    for (const [key, value] of attrs) writeAttribute(out, tables, key, value);
  }
  out.u32(graph.results.length);
  for (const { id } of graph.results) out.u32(placed(id));
}

function writeAttribute(out: ByteWriter, tables: PlanTables, key: string, value: MlxAttr): void {
  out.u32(tables.name(key));
  const word = typeof value === "object" && "word" in value ? value.word : undefined;
  out.u32(word === undefined ? ABSENT : tables.name(word));
  const items: readonly (Dim | boolean)[] = typeof value !== "object" ? [value] : "word" in value ? [] : value;
  out.u32(items.length);
  for (const item of items) {
    out.f64(typeof item === "string" ? 0 : Number(item));
    out.u32(typeof item === "string" ? tables.size(item) : ABSENT);
  }
}
