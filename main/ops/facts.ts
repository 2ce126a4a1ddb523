/** What the op table says of an op, in words: for its page of documentation, the command line and the window. */
import type { AnyOp } from "./defineOp.ts";
import { STABLE_BACKENDS } from "./defineOp.ts";

/** How a backend or a rule does an op, and why it does not, or as its parts. */
export interface Support {
  /** A backend, "gradient" or "batching". */
  readonly of: string;
  /** "native", "as its parts", "rule", "none" … */
  readonly how: string;
  readonly reason?: string;
}

export const AS_PARTS = "as its parts";
const KIND = { native: "native", decompose: AS_PARTS, unsupported: "no" } as const;
const GRADIENT = { vjp: "rule", decompose: "by its parts", nondifferentiable: "none" } as const;
const BATCHING = { elementwise: "by itself", rule: "rule", decompose: "by its parts", unsupported: "none" } as const;

export const SUPPORT_OF = [...STABLE_BACKENDS, "gradient", "batching"] as const;

/** In the order of SUPPORT_OF. */
export function supportOf(op: AnyOp): readonly Support[] {
  const { gradient, batching, backends } = op;
  const because = (entry: object): { readonly reason?: string } => {
    if ("reason" in entry) return { reason: String(entry.reason) };
    return "note" in entry ? { reason: String(entry.note) } : {};
  };
  return [
    ...STABLE_BACKENDS.map((of) => ({ of, how: KIND[backends[of].kind], ...because(backends[of]) })),
    { of: "gradient", how: GRADIENT[gradient.kind], ...because(gradient) },
    { of: "batching", how: BATCHING[batching.kind], ...because(batching) },
  ];
}

export function arityText({ arity: { least, most } }: AnyOp): string {
  if (most > 100) return `${least} or more`;
  return least === most ? String(least) : `${least} to ${most}`;
}

/** What each attribute takes. The widest limits of a whole number say nothing. */
export const attributesOf = (op: AnyOp): readonly { readonly name: string; readonly expects: string }[] =>
  Object.entries(op.schema).map(([name, { expects }]) => ({
    name,
    expects: expects
      .replace(`int ${Number.MIN_SAFE_INTEGER}..${Number.MAX_SAFE_INTEGER}`, "a whole number")
      .replace(/int (-?\d+)\.\.9007199254740991/, "a whole number from $1"),
  }));
