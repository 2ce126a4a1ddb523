/**
 * rope(x, rope_tables(past + 0 1 2 …)) → rope_fast(x, past): MLX's own kernel takes positions that follow each other and makes its
 * angles itself. Given: tables without a magnitude of their own. Result: the same turns with angles in f32; calls that nothing
 * reads any more are gone.
 */
import type { DraftCall, MlxDraft } from "../draft.ts";

export function fastRope(draft: MlxDraft): void {
  const makers = new Map<number, DraftCall>();
  for (const call of draft.calls) for (const { id } of call.outputs) makers.set(id, call);
  const scalars = new Set<number>();
  for (const { value } of draft.leaves) if (value.type.shape.length === 0) scalars.add(value.id);
  draft.calls = draft.calls.map((call) => {
    const [x, cosines, sines] = call.inputs;
    if (call.name !== "rope" || x === undefined || cosines === undefined || sines === undefined) return call;
    const tables = makers.get(cosines);
    if (tables?.name !== "rope_tables" || tables.outputs[0]?.id !== cosines || tables.outputs[1]?.id !== sines)
      return call;
    const { frequencies, magnitude } = tables.attrs;
    const [positions, factors] = tables.inputs;
    const past = positions === undefined ? undefined : startOf(makers.get(positions), makers, scalars);
    if (past === undefined || magnitude !== 1 || frequencies === undefined) return call;
    return {
      ...call,
      name: "rope_fast",
      inputs: [x, past, ...(factors === undefined ? [] : [factors])],
      attrs: { ...call.attrs, frequencies },
    };
  });
  dropUnread(draft);
}

/** The scalar s of s + 0 1 2 …, whichever side it stands on. */
function startOf(
  sum: DraftCall | undefined,
  makers: ReadonlyMap<number, DraftCall>,
  scalars: ReadonlySet<number>,
): number | undefined {
  if (sum?.name !== "add") return undefined;
  const isCount = (id: number | undefined): boolean =>
    id !== undefined && makers.get(id)?.name === "iota" && makers.get(id)?.outputs[0]?.type.shape.length === 1;
  const [a, b] = sum.inputs;
  if (isCount(a) && b !== undefined && scalars.has(b)) return b;
  return isCount(b) && a !== undefined && scalars.has(a) ? a : undefined;
}

function dropUnread(draft: MlxDraft): void {
  const read = new Set<number>();
  for (const { value } of draft.outputs) read.add(value.id);
  for (const { next } of draft.states) read.add(next.id);
  const kept: DraftCall[] = [];
  for (const call of [...draft.calls].reverse()) {
    if (!call.outputs.some(({ id }) => read.has(id))) continue;
    for (const id of call.inputs) read.add(id);
    kept.push(call);
  }
  draft.calls = kept.reverse();
}
