/** Typed access to the arguments of one operator while its output types are inferred. */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { MilDim, MilTensorType, MilValue } from "./types.ts";
import { tensorType } from "./types.ts";

export type InferArguments = ReadonlyMap<string, readonly MilValue[]>;

export class Reader {
  readonly type: string;
  readonly #args: InferArguments;
  constructor(type: string, args: InferArguments) {
    this.type = type;
    this.#args = args;
  }
  list(name: string): readonly MilTensorType[] {
    return (this.#args.get(name) ?? []).map((v) =>
      v.type.kind === "tensor" ? v.type : tensorType(v.type.dtype, v.type.shape),
    );
  }
  tensor(name: string): MilTensorType {
    const [only] = this.list(name);
    return only ?? this.fail(`argument ${name} is missing`);
  }
  has(name: string): boolean {
    return this.#args.has(name);
  }
  /** Contents of a constant argument. */
  numbers(name: string): readonly number[] {
    const constant = this.#args.get(name)?.[0]?.constant;
    if (constant?.data.kind !== "numbers") return this.fail(`argument ${name} must be a small constant here`);
    return Array.from(constant.data.values);
  }
  optionalNumbers(name: string): readonly number[] | undefined {
    return this.has(name) ? this.numbers(name) : undefined;
  }
  /** As `numbers`, or undefined when the argument is computed at run time. */
  knownNumbers(name: string): readonly number[] | undefined {
    const data = this.#args.get(name)?.[0]?.constant?.data;
    return data?.kind === "numbers" ? Array.from(data.values) : undefined;
  }
  number(name: string): number {
    return this.numbers(name)[0] ?? this.fail(`argument ${name} is empty`);
  }
  flag(name: string): boolean {
    return this.has(name) && this.number(name) !== 0;
  }
  string(name: string): string {
    const data = this.#args.get(name)?.[0]?.constant?.data;
    return data?.kind === "text" ? data.text : this.fail(`argument ${name} must be a string`);
  }
  axis(name: string, rank: number): number {
    return this.normal(this.number(name), rank);
  }
  normal(axis: number, rank: number): number {
    const at = axis < 0 ? axis + rank : axis;
    return at >= 0 && at < rank ? at : this.fail(`axis ${axis} is out of range for rank ${rank}`);
  }
  fail(what: string): never {
    throw new WorkbenchError("BUG_INVARIANT", `[${this.type}] ${what}`);
  }
}

export function broadcast(a: readonly MilDim[], b: readonly MilDim[], r: { fail(what: string): never }): MilDim[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const x = i < rank - a.length ? 1 : (a[i - rank + a.length] ?? null);
    const y = i < rank - b.length ? 1 : (b[i - rank + b.length] ?? null);
    if (x === y || y === 1) return x;
    if (x === 1) return y;
    if (x === null || y === null) return x ?? y;
    return r.fail(`shapes [${a.join()}] and [${b.join()}] do not broadcast`);
  });
}
