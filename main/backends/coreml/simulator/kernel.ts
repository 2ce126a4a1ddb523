/** What a simulator kernel gets: the arguments of one operator, by name, as values. */
import type { MilDtype, MilTensorType } from "../mil/types.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { simError } from "./tensor.ts";

export type Kernel = (a: Arguments) => PackageTensor | readonly PackageTensor[];

export class Arguments {
  readonly type: string;
  readonly #values: ReadonlyMap<string, readonly PackageTensor[]>;
  /** As the program declares them. */
  readonly outputs: readonly MilTensorType[];

  constructor(type: string, values: ReadonlyMap<string, readonly PackageTensor[]>, outputs: readonly MilTensorType[]) {
    this.type = type;
    this.#values = values;
    this.outputs = outputs;
  }

  get dtype(): MilDtype {
    return this.outputs[0]?.dtype ?? "fp32";
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  list(name: string): readonly PackageTensor[] {
    return this.#values.get(name) ?? simError(this.type, `argument ${name} is missing`);
  }

  tensor(name: string): PackageTensor {
    return this.list(name)[0] ?? simError(this.type, `argument ${name} is empty`);
  }

  optional(name: string): PackageTensor | undefined {
    return this.#values.get(name)?.[0];
  }

  numbers(name: string): number[] {
    return Array.from(this.tensor(name).data);
  }

  number(name: string): number {
    return this.tensor(name).data[0] ?? simError(this.type, `argument ${name} is empty`);
  }

  flag(name: string): boolean {
    return this.has(name) && this.number(name) !== 0;
  }

  text(name: string): string {
    return this.tensor(name).text ?? simError(this.type, `argument ${name} is not a string`);
  }

  axis(name: string, rank: number): number {
    const axis = this.number(name);
    return axis < 0 ? axis + rank : axis;
  }
}

/** The sizes of a result as the program declares them. */
export const declared = (a: Arguments, output = 0): number[] =>
  (a.outputs[output]?.shape ?? []).map((d) => d ?? simError(a.type, "a size that is only known at run time"));
