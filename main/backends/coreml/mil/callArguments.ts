/**
 * The arguments of one operator against the operator table: complete, with defaults written out, of allowed element types, with
 * equal types where the table says so, and constant where it must be.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { MilArgument, MilDtype, MilFallback, MilOpset, MilOpVersion, MilValue } from "./types.ts";
import { isFloat, typeText } from "./types.ts";

export type Literal = number | boolean | string | readonly number[] | readonly boolean[];
export type Given = MilValue | Literal | readonly MilValue[] | undefined;
export type GivenArguments = Readonly<Record<string, Given>>;

const isValue = (given: unknown): given is MilValue =>
  typeof given === "object" && given !== null && "constness" in given;
const isValueList = (given: Given): given is readonly MilValue[] =>
  Array.isArray(given) && given.length > 0 && isValue(given[0]);

/** The values of an argument; undefined for a literal. */
export function valuesIn(given: Given): readonly MilValue[] | undefined {
  if (typeof given !== "object") return undefined;
  return isValueList(given) ? given : isValue(given) ? [given] : undefined;
}

/** Resolved arguments of one operator, by name. */
export type Resolved = ReadonlyMap<string, readonly MilValue[]>;

/** Values of an argument that is known already. */
export type Known = (name: string) => readonly MilValue[] | undefined;

export function checkNames(
  type: string,
  opset: MilOpset,
  version: MilOpVersion,
  given: Readonly<Record<string, Given>>,
): void {
  for (const name of Object.keys(given))
    if (given[name] !== undefined && !version.args.some((a) => a.name === name))
      fail(type, `unknown argument ${name} in ${opset}: it takes ${version.args.map((a) => a.name).join(", ")}`);
}

export function fail(type: string, what: string): never {
  throw new WorkbenchError("BUG_INVARIANT", `[${type}] ${what}`);
}

/** A literal's element type: that of a value with the same type letter, else of `x` where allowed, else the natural one. */
export function literalDtype(
  type: string,
  argument: MilArgument,
  literal: Literal,
  version: MilOpVersion,
  known: Known,
): MilDtype {
  const allowed = argument.types ?? [];
  const one = Array.isArray(literal) ? (literal as readonly (number | boolean)[])[0] : literal;
  if (typeof one === "boolean") return "bool";
  if (argument.domain !== undefined)
    for (const other of version.args) {
      if (other.domain !== argument.domain) continue;
      const dtype = known(other.name)?.[0]?.type.dtype;
      if (dtype !== undefined) return dtype;
    }
  for (const other of ["x", "input", "values", "weight"]) {
    const dtype = known(other)?.[0]?.type.dtype;
    if (dtype !== undefined && isFloat(dtype) && allowed.includes(dtype)) return dtype;
  }
  const natural = allowed.includes("int32") ? "int32" : allowed[0];
  if (natural === undefined) fail(type, `argument ${argument.name} cannot be a literal`);
  const whole = [literal].flat().every((v) => Number.isInteger(v));
  if (!whole && !isFloat(natural))
    fail(type, `argument ${argument.name} needs a typed constant: ${JSON.stringify(literal)} is not ${natural}`);
  return natural;
}

/** The default as a literal; undefined where it cannot be told (and is then left out). */
export function fallbackLiteral(type: string, fallback: MilFallback | undefined, known: Known): Literal | undefined {
  if (fallback === undefined) return undefined;
  const rank = (name: string): number => known(name)?.[0]?.type.shape.length ?? 0;
  switch (fallback.kind) {
    case "value":
      return fallback.value;
    case "spatial":
      return new Array<number>(Math.max(0, rank("x") - 2)).fill(fallback.value);
    case "spatialPads":
      return new Array<number>(2 * Math.max(0, rank("x") - 2)).fill(fallback.value);
    case "allAxes":
      return Array.from({ length: rank("x") }, (_, i) => i);
    case "zeroBias":
      return new Array<number>(known("weight")?.[0]?.type.shape[0] ?? 0).fill(0);
    case "mustGive":
      return fail(type, "an argument whose default depends on data must be given");
  }
}

/** Element types allowed, shared letters equal, constants constant. */
export function checkDomains(type: string, version: MilOpVersion, resolved: Resolved): void {
  const letters = new Map<string, MilDtype>();
  for (const argument of version.args) {
    for (const value of resolved.get(argument.name) ?? []) {
      if (argument.kind === "state" ? value.type.kind !== "state" : value.type.kind === "state")
        fail(type, `argument ${argument.name} is ${typeText(value.type)}`);
      if (value.weight !== undefined && value.constness === "no")
        fail(type, `argument ${argument.name} is the planned weight ${value.weight.name}: use linear, rows or dense`);
      const { dtype } = value.type;
      if (argument.types !== undefined && !argument.types.includes(dtype))
        fail(type, `argument ${argument.name} is ${dtype}, allowed ${argument.types.join(", ")}`);
      if (argument.constant === true && value.constness === "no")
        fail(type, `argument ${argument.name} must be constant, ${value.name} is computed`);
      if (argument.domain === undefined) continue;
      const before = letters.get(argument.domain);
      if (before === undefined) letters.set(argument.domain, dtype);
      else if (before !== dtype) fail(type, `argument ${argument.name} is ${dtype}, the others ${before}`);
    }
  }
}
