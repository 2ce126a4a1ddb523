/**
 * Dimensions: a number, or a polynomial over named symbols in one canonical spelling ("T", "2*T",
 * "T+past"), so that equality is `===` and a dim prints, hashes and crosses processes as it is.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";

export type Dim = number | string;
export type Shape = readonly Dim[];
/** Sizes for symbols. */
export type Bindings = Readonly<Record<string, number>>;
/** What symbols become where they may become others. */
export type Sizes = Readonly<Record<string, Dim>>;

/** Monomial ("" for the constant, symbols sorted and joined by "*") → integer coefficient. */
type Polynomial = ReadonlyMap<string, number>;

/** Names that every object has ("constructor") are none: sizes are looked up in plain objects. */
const SYMBOL = /^[A-Za-z_][A-Za-z0-9_]*$/;
const parsed = new Map<string, Polynomial>();

function fail(text: string, why: string): never {
  throw new WorkbenchError("IR_SHAPE", `[dim] ${why}: got "${text}", expected a polynomial such as 2*T+past`);
}

function parseTerm(text: string, whole: string): readonly [string, number] {
  let coefficient = 1;
  const symbols: string[] = [];
  for (const factor of text.split("*")) {
    if (/^-?\d+$/.test(factor)) coefficient *= Number(factor);
    else if (factor in Object.prototype) fail(whole, `a symbol cannot have the name "${factor}"`);
    else if (SYMBOL.test(factor)) symbols.push(factor);
    else fail(whole, `bad factor "${factor}"`);
  }
  return [symbols.sort().join("*"), coefficient];
}

function toPolynomial(dim: Dim): Polynomial {
  if (typeof dim === "number") return new Map(dim === 0 ? [] : [["", dim]]);
  const known = parsed.get(dim);
  if (known) return known;
  if (dim.length > 256) fail(dim.slice(0, 32), "expression too long");
  const terms = new Map<string, number>();
  for (const term of dim.replace(/\s+/g, "").replace(/-/g, "+-").replace(/^\+/, "").split("+")) {
    const [key, value] = parseTerm(term.replace(/^-(?=[A-Za-z_])/, "-1*"), dim);
    terms.set(key, (terms.get(key) ?? 0) + value);
  }
  if (parsed.size > 4096) parsed.clear();
  parsed.set(dim, terms);
  return terms;
}

function fromPolynomial(polynomial: Polynomial): Dim {
  const terms = [...polynomial].filter(([, c]) => c !== 0);
  if (terms.length === 0) return 0;
  const [only] = terms;
  if (terms.length === 1 && only !== undefined && only[0] === "") return only[1];
  // Symbols in order, higher products first, the constant last.
  terms.sort(([a], [b]) =>
    a === "" ? 1 : b === "" ? -1 : b.split("*").length - a.split("*").length || (a < b ? -1 : 1),
  );
  return terms
    .map(([key, c]) => (key === "" ? String(c) : c === 1 ? key : c === -1 ? `-${key}` : `${c}*${key}`))
    .join("+")
    .replace(/\+-/g, "-");
}

const canonical = new Map<string, Dim>();

/** The canonical spelling; rejects what is not a polynomial. */
export function canonicalDim(dim: Dim): Dim {
  if (typeof dim !== "number") {
    const known = canonical.get(dim);
    if (known !== undefined) return known;
    const spelled = fromPolynomial(toPolynomial(dim));
    if (typeof spelled === "number" && spelled < 0) fail(dim, "negative size");
    if (canonical.size > 4096) canonical.clear();
    canonical.set(dim, spelled);
    return spelled;
  }
  if (!Number.isSafeInteger(dim) || dim < 0)
    throw new WorkbenchError(
      "IR_SHAPE",
      `[dim] bad size: got ${dim}, expected a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`,
    );
  return dim;
}

export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return a + b;
  const sum = new Map(toPolynomial(a));
  for (const [key, c] of toPolynomial(b)) sum.set(key, (sum.get(key) ?? 0) + c);
  return fromPolynomial(sum);
}

export function mulDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return a * b;
  if (a === 1) return b;
  if (b === 1) return a;
  const product = new Map<string, number>();
  for (const [ka, ca] of toPolynomial(a))
    for (const [kb, cb] of toPolynomial(b)) {
      const key = [...(ka === "" ? [] : ka.split("*")), ...(kb === "" ? [] : kb.split("*"))].sort().join("*");
      product.set(key, (product.get(key) ?? 0) + ca * cb);
    }
  return fromPolynomial(product);
}

export const subDims = (a: Dim, b: Dim): Dim => addDims(a, mulDims(b, -1));

/** a / b where it divides exactly; undefined otherwise. The divisor must be a single term. */
export function divDims(a: Dim, b: Dim): Dim | undefined {
  if (typeof a === "number" && typeof b === "number") return b !== 0 && a % b === 0 ? a / b : undefined;
  if (a === b) return 1;
  const divisor = [...toPolynomial(b)];
  const [only] = divisor;
  if (divisor.length !== 1 || only === undefined) return undefined;
  const result = new Map<string, number>();
  for (const [key, c] of toPolynomial(a)) {
    if (c % only[1] !== 0) return undefined;
    const symbols = key === "" ? [] : key.split("*");
    for (const symbol of only[0] === "" ? [] : only[0].split("*")) {
      const at = symbols.indexOf(symbol);
      if (at < 0) return undefined;
      symbols.splice(at, 1);
    }
    result.set(symbols.join("*"), c / only[1]);
  }
  return fromPolynomial(result);
}

export const productOf = (shape: Shape): Dim => shape.reduce<Dim>(mulDims, 1);

/** The value under bindings; symbols without a binding stay. */
export function bindDim(dim: Dim, bindings: Sizes): Dim {
  if (typeof dim === "number") return dim;
  let total: Dim = 0;
  for (const [key, c] of toPolynomial(dim)) {
    let term: Dim = c;
    for (const symbol of key === "" ? [] : key.split("*")) term = mulDims(term, bindings[symbol] ?? symbol);
    total = addDims(total, term);
  }
  return total;
}

export function dimSymbols(dim: Dim): readonly string[] {
  if (typeof dim === "number") return [];
  return [...new Set([...toPolynomial(dim).keys()].flatMap((key) => (key === "" ? [] : key.split("*"))))];
}

/** A number, or an IR_SHAPE error that names its source and which symbol is free. */
export function staticDim(dim: Dim, source: string): number {
  if (typeof dim === "number") return dim;
  throw new WorkbenchError("IR_SHAPE", `[${source}] symbolic size: got ${dim}, expected a number`, {
    hint: `Bind ${dimSymbols(dim).join(", ")} first (specialise the graph).`,
  });
}

export interface DimTerm {
  readonly coefficient: number;
  /** With repetition for powers; empty for the constant. */
  readonly symbols: readonly string[];
}

/** The terms of the polynomial, to evaluate it elsewhere. */
export function dimTerms(dim: Dim): readonly DimTerm[] {
  return [...toPolynomial(dim)].map(([key, coefficient]) => ({
    coefficient,
    symbols: key === "" ? [] : key.split("*"),
  }));
}
