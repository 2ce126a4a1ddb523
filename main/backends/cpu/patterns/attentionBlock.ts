/**
 * Attention blocks: norms and rotation of q and k, the appends, and attention become one instruction; for one token that is
 * one barrier instead of five.
 *
 *   Given   q', kc', vc' = rope_append(q, k, v, cos, sin, kc, vc, past, qn?, kn?); y = attention(q', kc', vc', past)
 *   or      q' = rope(rms_norm?(q), cos, sin); kc' = kv_append(kc, rope(rms_norm?(k), cos, sin), past);
 *           vc' = kv_append(vc, v, past); y = attention(q', kc', vc', past)
 *   Result  y, kc', vc' = attention_block(q, k, v, qn, kn, cos, sin, kc, vc, past)
 *
 * Only when nothing else reads what disappears and the caches are states that are updated in place.
 */
import type { DraftInstruction, PlanDraft, Uses } from "../draft.ts";
import { numberParam, passedOn, readOnlyBy, soleWriter, usesOf } from "../draft.ts";

/** The open form: operands of the block, and the instructions that it replaces. */
interface Parts {
  readonly operands: readonly number[];
  readonly eps: number;
  readonly interleaved: boolean;
  readonly normQ: boolean;
  readonly normK: boolean;
  readonly places: readonly number[];
}

export function attentionBlocks(draft: PlanDraft): void {
  const uses = usesOf(draft);
  const result: (DraftInstruction | undefined)[] = [...draft.instructions];
  draft.instructions.forEach((attention, at) => {
    if (attention.kernel !== "attention") return;
    const parts = fusedParts(draft, uses, attention, at) ?? separateParts(draft, uses, attention, at);
    if (parts === undefined) return;
    const [q = -1, , v = -1, , , , , kCache = -1, vCache = -1] = parts.operands;
    const [, keys = -1, values = -1] = attention.inputs;
    if (draft.valueAt(q).type.shape.at(-1) !== draft.valueAt(v).type.shape.at(-1)) return;
    if (!updatesInPlace(draft, uses, kCache, keys, at) || !updatesInPlace(draft, uses, vCache, values, at)) return;
    const { causal, scale, softcap, window } = attention.params;
    const replaced = parts.places.flatMap((place) => draft.instructions[place] ?? []);
    for (const place of parts.places) result[place] = undefined;
    result[at] = {
      kernel: "attention_block",
      inputs: parts.operands,
      outputs: [attention.outputs[0] ?? -1, keys, values],
      params: {
        ...(causal === undefined ? {} : { causal }),
        ...(scale === undefined ? {} : { scale }),
        ...(softcap === undefined ? {} : { softcap }),
        ...(window === undefined ? {} : { window }),
        interleaved: parts.interleaved,
        eps: parts.eps,
        normQ: parts.normQ,
        normK: parts.normK,
      },
      nodes: [...new Set([...replaced, attention].flatMap((instruction) => instruction.nodes))],
    };
  });
  draft.instructions = result.filter((instruction) => instruction !== undefined);
}

function fusedParts(draft: PlanDraft, uses: Uses, attention: DraftInstruction, at: number): Parts | undefined {
  const [q = -1, k = -1, v = -1, past = -1] = attention.inputs;
  const place = soleWriter(uses, draft.bufferOf(q));
  const append = place === undefined ? undefined : draft.instructions[place];
  if (place === undefined || append?.kernel !== "rope_append") return undefined;
  const [turned = -1, keys = -1, values = -1] = append.outputs;
  const [
    rawQ = -1,
    rawK = -1,
    rawV = -1,
    cos = -1,
    sin = -1,
    kCache = -1,
    vCache = -1,
    appendPast = -1,
    qNorm = -1,
    kNorm = -1,
  ] = append.inputs;
  if (q !== turned || k !== keys || v !== values || past !== appendPast) return undefined;
  if (!readOnlyBy(uses, draft.bufferOf(turned), at)) return undefined;
  return {
    operands: [rawQ, rawK, rawV, qNorm, kNorm, cos, sin, kCache, vCache, past],
    eps: numberParam(append.params, "eps", 1e-6),
    interleaved: append.params["interleaved"] === true,
    normQ: qNorm >= 0,
    normK: kNorm >= 0,
    places: [place],
  };
}

interface Turned {
  readonly raw: number;
  readonly norm: number;
  readonly normed: boolean;
  readonly eps: number;
  readonly rope: DraftInstruction;
  readonly places: readonly number[];
}

/** rope(rms_norm?(raw)) behind a value that only `reader` reads. */
function turnedOf(draft: PlanDraft, uses: Uses, id: number, reader: number): Turned | undefined {
  const ropeAt = soleWriter(uses, draft.bufferOf(id));
  const rope = ropeAt === undefined ? undefined : draft.instructions[ropeAt];
  if (ropeAt === undefined || rope?.kernel !== "rope" || !readOnlyBy(uses, draft.bufferOf(id), reader))
    return undefined;
  const [x = -1] = rope.inputs;
  const normAt = soleWriter(uses, draft.bufferOf(x));
  const norm = normAt === undefined ? undefined : draft.instructions[normAt];
  if (normAt === undefined || norm?.kernel !== "rms_norm" || !readOnlyBy(uses, draft.bufferOf(x), ropeAt))
    return { raw: x, norm: -1, normed: false, eps: 0, rope, places: [ropeAt] };
  const [raw = -1, weight = -1] = norm.inputs;
  return {
    raw,
    norm: weight,
    normed: true,
    eps: numberParam(norm.params, "eps", 1e-5),
    rope,
    places: [ropeAt, normAt],
  };
}

function separateParts(draft: PlanDraft, uses: Uses, attention: DraftInstruction, at: number): Parts | undefined {
  const [q = -1, keys = -1, values = -1, past = -1] = attention.inputs;
  const query = turnedOf(draft, uses, q, at);
  const appendOf = (id: number): { readonly place: number; readonly append: DraftInstruction } | undefined => {
    const place = soleWriter(uses, draft.bufferOf(id));
    const append = place === undefined ? undefined : draft.instructions[place];
    return place !== undefined && append?.kernel === "kv_append" && append.inputs[2] === past
      ? { place, append }
      : undefined;
  };
  const [k, v] = [appendOf(keys), appendOf(values)];
  if (query === undefined || k === undefined || v === undefined) return undefined;
  const key = turnedOf(draft, uses, k.append.inputs[1] ?? -1, k.place);
  if (key === undefined) return undefined;
  const same = query.rope.inputs[1] === key.rope.inputs[1] && query.rope.inputs[2] === key.rope.inputs[2];
  if (!same || query.rope.params["interleaved"] !== key.rope.params["interleaved"]) return undefined;
  if (query.normed && key.normed && query.eps !== key.eps) return undefined;
  const [, cos = -1, sin = -1] = query.rope.inputs;
  return {
    operands: [
      query.raw,
      key.raw,
      v.append.inputs[1] ?? -1,
      query.norm,
      key.norm,
      cos,
      sin,
      k.append.inputs[0] ?? -1,
      v.append.inputs[0] ?? -1,
      past,
    ],
    eps: query.normed ? query.eps : key.eps,
    interleaved: query.rope.params["interleaved"] === true,
    normQ: query.normed,
    normK: key.normed,
    places: [...query.places, ...key.places, k.place, v.place],
  };
}

/** The cache is a state, its next value is this result; nobody reads the old value after `at`, or the new one before it. */
function updatesInPlace(draft: PlanDraft, uses: Uses, cache: number, next: number, at: number): boolean {
  const buffer = draft.bufferOf(cache);
  const kind = draft.kindOf(buffer);
  const state = kind.kind === "state" ? draft.states.find((entry) => entry.name === kind.name) : undefined;
  if (state === undefined || draft.bufferOf(state.next) !== draft.bufferOf(next) || passedOn(draft, buffer))
    return false;
  const early = (uses.readers[draft.bufferOf(next)] ?? []).some((reader) => reader < at);
  return !early && !(uses.readers[buffer] ?? []).some((reader) => reader > at);
}
