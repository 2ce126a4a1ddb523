/**
 * What an optimiser is: slots that it keeps for each parameter, numbers of each step that are worked out in float64 (so that
 * 1 − β^t keeps its digits on a device that computes in f32), and one update, written once over the algebra.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Algebra } from "../algebra.ts";

export interface StepFacts {
  /** The first is 1. */
  readonly step: number;
  readonly learningRate: number;
}

export interface Slot {
  readonly name: string;
  readonly shape: readonly number[];
  /** What it holds before the first step: zeros, the parameter itself, or the identity matrix. */
  readonly initial: "zeros" | "parameter" | "identity";
}

/** What an update reads of one parameter. */
export interface Given<T> {
  readonly parameter: T;
  readonly gradient: T;
  readonly slots: Readonly<Record<string, T>>;
  readonly scalars: Readonly<Record<string, T>>;
  /** With `wants: "curvature"`: an estimate of the Hessian's diagonal; zeros where `curvatureAt` says no. */
  readonly curvature?: T;
}

export interface Updated<T> {
  readonly parameter: T;
  readonly slots: Readonly<Record<string, T>>;
}

export type OptionValue = number | boolean | string;

export interface Optimizer {
  /** "adamw". */
  readonly name: string;
  readonly options: Readonly<Record<string, OptionValue>>;
  slots(shape: readonly number[]): readonly Slot[];
  /** The same names at every step. */
  scalars(facts: StepFacts): Readonly<Record<string, number>>;
  /** Steps at which it wants an estimate of the Hessian's diagonal; absent where it never does. */
  curvatureAt?(step: number): boolean;
  update<T>(a: Algebra<T>, given: Given<T>): Updated<T>;
  /** The weights to use, where they are not those that are trained. */
  evaluated?<T>(a: Algebra<T>, parameter: T, slots: Readonly<Record<string, T>>): T;
}

/** One of `record`, which is there because the optimiser itself declares its names. */
export function of<T>(record: Readonly<Record<string, T>>, name: string): T {
  const found = record[name];
  if (found === undefined) throw new WorkbenchError("BUG_INVARIANT", `[optimizer] nothing is called ${name}`);
  return found;
}

export const zeros = (name: string, shape: readonly number[]): Slot => ({ name, shape, initial: "zeros" });

// ----------------------------------------------------------------------------------------------- options

interface Range {
  readonly least?: number;
  /** The least value itself is no value. */
  readonly above?: number;
  readonly below?: number;
  readonly most?: number;
  readonly whole?: boolean;
}

const inWords = ({ least, above, below, most, whole }: Range): string =>
  [
    whole === true ? "a whole number" : "a number",
    ...(least === undefined ? [] : [`from ${least}`]),
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(below === undefined ? [] : [`below ${below}`]),
    ...(most === undefined ? [] : [`up to ${most}`]),
  ].join(" ");

const inRange = (value: number, { least, above, below, most, whole }: Range): boolean =>
  Number.isFinite(value) &&
  (least === undefined || value >= least) &&
  (above === undefined || value > above) &&
  (below === undefined || value < below) &&
  (most === undefined || value <= most) &&
  (whole !== true || Number.isInteger(value));

/** What an option may be: a range of numbers, a list of words, or a truth value. */
export type OptionRule = Range | readonly string[] | "flag";

export const DECAY: Range = { least: 0, below: 1 };
export const NOT_NEGATIVE: Range = { least: 0 };
export const POSITIVE: Range = { above: 0 };

/** Options with their defaults, each in its range. Names that are unknown are refused. */
export function readOptions<O extends { readonly [K in keyof O]: OptionValue }>(
  who: string,
  defaults: O,
  given: { readonly [K in keyof O]?: O[K] | undefined },
  rules: { readonly [K in keyof O]: OptionRule },
): O {
  const names = Object.keys(defaults);
  const chosen: Record<string, OptionValue> = { ...defaults };
  const ranges: Readonly<Record<string, OptionRule | undefined>> = rules;
  for (const [name, value] of Object.entries<OptionValue | undefined>(given)) {
    if (value === undefined) continue;
    const rule = names.includes(name) ? ranges[name] : undefined;
    if (rule === undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] option: got ${name}, expected one of ${names.join(", ")}`);
    const expected = refusal(rule, value);
    if (expected !== undefined)
      throw new WorkbenchError("INPUT_ARGUMENT", `[${who}] ${name}: got ${String(value)}, expected ${expected}`);
    chosen[name] = value;
  }
  return chosen as O;
}

/** What was expected, where the value is something else. */
function refusal(rule: OptionRule, value: OptionValue): string | undefined {
  if (rule === "flag") return typeof value === "boolean" ? undefined : "true or false";
  if (isList(rule)) return rule.includes(String(value)) ? undefined : `one of ${rule.join(", ")}`;
  return typeof value === "number" && inRange(value, rule) ? undefined : inWords(rule);
}

const isList = (rule: Range | readonly string[]): rule is readonly string[] => Array.isArray(rule);
