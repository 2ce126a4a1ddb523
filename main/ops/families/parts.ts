/** Ops that are made of others on every backend: what that says of gradient, batching and entries. */
import type { Arity, Backend, Decomposed, Decomposition } from "../defineOp.ts";
import { decomposed, everywhere } from "../defineOp.ts";

export interface ByParts<Attrs, A extends Arity> {
  readonly gradient: Decomposed<Attrs, A>;
  readonly batching: Decomposed<Attrs, A>;
  readonly backends: { readonly [B in Backend]: Decomposed<Attrs, A> };
}

/** To be spread into a definition; what an op has of its own follows it. */
export const byParts = <Attrs, A extends Arity>(parts: Decomposition<Attrs, A>): ByParts<Attrs, A> => ({
  gradient: decomposed(parts),
  batching: decomposed(parts),
  backends: everywhere(parts),
});
