/**
 * Attention blocks: norms and rotation of q and k, the appends, and attention become one instruction; for one token that is
 * one barrier instead of five.
 *
 *   Given   q', kc', vc' = rope_append(q, k, v, cos, sin, kc, vc, past, qn?, kn?); y = attention(q', kc', vc', past)
 *   Result  y, kc', vc' = attention_block(q, k, v, qn, kn, cos, sin, kc, vc, past)
 *
 * Only when q' has no other reader and the caches are states that are updated in place.
 */
import type { DraftInstruction, PlanDraft } from "../draft.ts";
import { readOnlyBy, soleWriter, usesOf } from "../draft.ts";

export function attentionBlocks(draft: PlanDraft): void {
  const uses = usesOf(draft);
  const result: (DraftInstruction | undefined)[] = [...draft.instructions];
  draft.instructions.forEach((attention, at) => {
    if (attention.kernel !== "attention") return;
    const [q = -1, k = -1, v = -1, past = -1] = attention.inputs;
    const place = soleWriter(uses, draft.bufferOf(q));
    const append = place === undefined ? undefined : result[place];
    if (place === undefined || append?.kernel !== "rope_append") return;
    const [turned = -1, keys = -1, values = -1] = append.outputs;
    const [rawQ = -1, rawK = -1, rawV = -1, cos = -1, sin = -1, kCache = -1, vCache = -1, appendPast = -1, qNorm = -1, kNorm = -1] =
      append.inputs;
    if (q !== turned || k !== keys || v !== values || past !== appendPast) return;
    if (!readOnlyBy(uses, draft.bufferOf(turned), at)) return;
    if (draft.valueAt(rawQ).type.shape.at(-1) !== draft.valueAt(rawV).type.shape.at(-1)) return;
    if (!updatesInPlace(draft, kCache, keys, at) || !updatesInPlace(draft, vCache, values, at)) return;
    const { causal, scale, softcap, window } = attention.params;
    result[place] = undefined;
    result[at] = {
      kernel: "attention_block",
      inputs: [rawQ, rawK, rawV, qNorm, kNorm, cos, sin, kCache, vCache, past],
      outputs: [attention.outputs[0] ?? -1, keys, values],
      params: {
        ...(causal === undefined ? {} : { causal }),
        ...(scale === undefined ? {} : { scale }),
        ...(softcap === undefined ? {} : { softcap }),
        ...(window === undefined ? {} : { window }),
        interleaved: append.params["interleaved"] ?? false,
        eps: append.params["eps"] ?? 1e-6,
        normQ: qNorm >= 0,
        normK: kNorm >= 0,
      },
      nodes: [...new Set([...append.nodes, ...attention.nodes])],
    };
  });
  draft.instructions = result.filter((instruction) => instruction !== undefined);
}

/** The cache is a state, its next value is this result, and nobody reads the old value after `at`. */
function updatesInPlace(draft: PlanDraft, cache: number, next: number, at: number): boolean {
  const buffer = draft.bufferOf(cache);
  const kind = draft.kindOf(buffer);
  const state = kind.kind === "state" ? draft.states.find((entry) => entry.name === kind.name) : undefined;
  if (state === undefined || draft.bufferOf(state.next) !== draft.bufferOf(next)) return false;
  return !draft.instructions.some((instruction, i) => i > at && instruction.inputs.some((id) => id >= 0 && draft.bufferOf(id) === buffer));
}
