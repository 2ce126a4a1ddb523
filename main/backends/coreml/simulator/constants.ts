/** The constants of a package: read from its weight file when first needed, and kept while there is room. */
import { unpackValues } from "../mil/fromProto.ts";
import type { MilConstant, MilTensorType } from "../mil/types.ts";
import { elementCount } from "../mil/types.ts";
import type { OpenPackage } from "../package.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import { packageTensor } from "../package/packageTensor.ts";
import { DEFAULT_MEMORY_LIMIT, simulatedBytes, SimulatorMemory } from "./memory.ts";
import { simError } from "./tensor.ts";

/** Decompressed constants kept in memory; beyond this, the oldest are read again when needed. */
const BUDGET_BYTES = 1 << 30;

export class Constants {
  readonly memory: SimulatorMemory;
  readonly #weights: OpenPackage["weights"];
  readonly #known = new Map<string, PackageTensor>();
  #bytes = 0;

  constructor(weights: OpenPackage["weights"], memory: SimulatorMemory = new SimulatorMemory(DEFAULT_MEMORY_LIMIT)) {
    this.#weights = weights;
    this.memory = memory;
  }

  /** Of those that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `keep: false` for operands of constexprs: only what they decompress to is worth memory. */
  async load(constant: MilConstant, keep: boolean): Promise<PackageTensor> {
    const { type, data } = constant;
    const shape = type.shape.map((d) => d ?? simError("const", "an unknown size"));
    switch (data.kind) {
      case "text":
        return { dtype: "string", shape, data: new Int32Array(0), text: data.text };
      case "numbers":
        return packageTensor(type.dtype, shape, copyOf(data.values));
      case "blob":
        return keep
          ? // Constants of other shapes may share a record.
            this.kept(`${data.offset} ${shape.join()}`, () => this.#record(data.offset, type, shape))
          : this.#record(data.offset, type, shape);
    }
  }

  async #record(offset: number, type: MilTensorType, shape: readonly number[]): Promise<PackageTensor> {
    const weights = this.#weights ?? simError("const", "the package has no weight file");
    const count = elementCount(shape);
    this.memory.need(simulatedBytes(type), "const", () => this.#bytes);
    return packageTensor(
      type.dtype,
      shape,
      copyOf(unpackValues(type.dtype, count, await weights.read(offset, type.dtype, count))),
    );
  }

  /** One copy by key, for whatever function asks. */
  async kept(key: string, make: () => Promise<PackageTensor>): Promise<PackageTensor> {
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#known.delete(key);
      this.#known.set(key, known);
      return known;
    }
    const made = await make();
    this.#known.set(key, made);
    this.#bytes += made.data.byteLength;
    for (const [oldest, tensor] of this.#known) {
      if (this.#bytes <= BUDGET_BYTES || oldest === key) break;
      this.#known.delete(oldest);
      this.#bytes -= tensor.data.byteLength;
    }
    return made;
  }
}

/** Kernels may round in place, so they never see the arrays of the program itself. */
const copyOf = (values: ArrayLike<number>): ArrayLike<number> =>
  values instanceof Float32Array || values instanceof Int32Array ? values.slice() : values;
