/**
 * How much memory a simulated package may have. A package is a file from anywhere, and its sizes are claims: before an operator
 * runs, the results that its arguments ask for are counted beside all that lives.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import { inferOutputs } from "../mil/infer.ts";
import type { MilTensorType, MilType, MilValue } from "../mil/types.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { simError } from "./tensor.ts";

export const DEFAULT_MEMORY_LIMIT = 4 * 2 ** 30;

/** Every element is four bytes here, whatever its type. */
const ELEMENT_BYTES = 4;
/** A kernel has tables of the size of its result. */
const WITH_TABLES = 2;

/** NaN where a size is only known at run time. */
export const simulatedBytes = ({ shape }: MilType): number =>
  shape.reduce<number>((product, dim) => product * (dim ?? Number.NaN), ELEMENT_BYTES);

export class SimulatorMemory {
  readonly #limit: number;
  /** At least what lives: counted anew only when it would be too much. */
  #atMost = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Throws where `bytes` more are more than there may be; `live` counts what is held now. */
  need(bytes: number, source: string, live: () => number): void {
    this.#atMost += bytes;
    if (this.#atMost <= this.#limit) return;
    const held = live();
    this.#atMost = held + bytes;
    if (this.#atMost <= this.#limit) return;
    this.#atMost = held;
    throw new WorkbenchError(
      "ENV_NO_MEMORY",
      `[coreml-sim] ${source}: got ${megabytes(bytes)} beside ${megabytes(held)} that are held, expected at most ${megabytes(this.#limit)} together`,
      { hint: "Choose a shorter context, raise RLX_SIMULATOR_MEMORY, or run the model on the CPU." },
    );
  }
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1e6)} MB`;

/** Bytes that running an operator needs: by what its arguments ask for, and by what the program declares. */
export function operatorBytes(
  type: string,
  values: ReadonlyMap<string, readonly PackageTensor[]>,
  declared: readonly MilType[],
): number {
  const sum = (types: readonly MilType[]): number =>
    types.reduce((bytes, each) => bytes + (simulatedBytes(each) || 0), 0);
  return WITH_TABLES * Math.max(sum(asked(type, values)), sum(declared));
}

function asked(type: string, values: ReadonlyMap<string, readonly PackageTensor[]>): readonly MilTensorType[] {
  const args = new Map([...values].map(([name, list]) => [name, list.map(asValue)] as const));
  try {
    return inferOutputs(type, args);
  } catch (error) {
    // A fault of the program, which was read from a file, and not one of ours.
    const message = error instanceof WorkbenchError ? error.message.replace(/^\[[^\]]*\] /u, "") : String(error);
    return simError(type, message);
  }
}

function asValue({ dtype, shape, data, text }: PackageTensor): MilValue {
  const type: MilTensorType = { kind: "tensor", dtype, shape };
  const contents =
    text === undefined ? ({ kind: "numbers", values: data } as const) : ({ kind: "text", text } as const);
  return { number: -1, name: "", type, constness: "const", constant: { type, data: contents }, bindings: [] };
}
