/**
 * The numbers of a text's constants. `all 0` is a few letters and may be an array of gigabytes: what a text makes so is
 * limited as a whole, and numbers that are the same are made once.
 */
import { isPacked, unheld } from "../dtype.ts";
import type { HostTensor } from "../hostTensor.ts";
import { hostTensor, sizeOf } from "../hostTensor.ts";
import type { TensorType } from "../type.ts";
import { formatType } from "../type.ts";
import type { Faults } from "./diagnostics.ts";
import { addRounded } from "./diagnostics.ts";
import { numberText } from "./spelling.ts";
import type { Data, Word } from "./syntax.ts";

/** That lines of `all` make, of all constants together. */
const MOST_NUMBERS = 1 << 26;

export class Constants {
  readonly #faults: Faults;
  /** By their hash. */
  readonly #known: ReadonlyMap<string, HostTensor>;
  readonly #filled = new Map<string, HostTensor>();
  #count = 0;

  constructor(faults: Faults, known: ReadonlyMap<string, HostTensor> = new Map()) {
    this.#faults = faults;
    this.#known = known;
  }

  /** Undefined where it cannot be; the fault is noted. */
  tensor(data: Data, type: TensorType, op: Word): HostTensor | undefined {
    const { dtype, shape } = type;
    const sizes = shape.filter((dim) => typeof dim === "number");
    if (isPacked(dtype) || sizes.length < shape.length) {
      const message = `[constant] type: got ${formatType(type)}, expected a plain type of fixed size`;
      this.#faults.add("IR_TYPE", { start: op.start, end: op.end }, message);
      return undefined;
    }
    const wanted = dtype === "c64" ? [...sizes, 2] : sizes;
    if (data.kind !== "hash" && addRounded(this.#faults, dtype, data.rounded)) return undefined;
    const wrong = unheld(dtype, data.kind === "all" ? [data.number] : data.kind === "numbers" ? data.numbers : []);
    if (wrong !== undefined) {
      const message = `[constant] numbers: got ${numberText(wrong)}, expected what ${dtype} holds`;
      this.#faults.add("IR_TYPE", data.span, message);
      return undefined;
    }
    switch (data.kind) {
      case "hash":
        return this.#ofHash(data);
      case "all":
        return this.#all(data, formatType(type), sizeOf(wanted), (numbers) => hostTensor(dtype, sizes, numbers));
      default: {
        // An empty list says nothing of the sizes behind it.
        const isEmpty = data.numbers.length === 0 && sizeOf(wanted) === 0;
        if (isEmpty || (wanted.length === data.shape.length && wanted.every((size, i) => size === data.shape[i])))
          return hostTensor(dtype, sizes, data.numbers);
        const got = `got a list of [${data.shape.join(",")}], expected [${wanted.join(",")}] for ${formatType(type)}`;
        this.#faults.add("IR_SHAPE", data.span, `[constant] numbers: ${got}`);
        return undefined;
      }
    }
  }

  #ofHash({ hash, span }: Extract<Data, { readonly kind: "hash" }>): HostTensor | undefined {
    const known = this.#known.get(hash);
    const message = `[constant] got #${hash}, expected numbers: this text does not hold those of the hash`;
    if (known === undefined) this.#faults.add("IR_STRUCTURE", span, message);
    return known;
  }

  #all(
    { number, span }: Extract<Data, { readonly kind: "all" }>,
    type: string,
    count: number,
    make: (numbers: Float64Array) => HostTensor,
  ): HostTensor | undefined {
    const key = `${type} ${numberText(number)}`;
    const known = this.#filled.get(key);
    if (known !== undefined) return known;
    const together = this.#count + count;
    if (together > MOST_NUMBERS) {
      const which = this.#count === 0 ? "numbers" : "numbers of all constants together";
      const message = `[constant] ${which}: got ${together}, expected at most ${MOST_NUMBERS}`;
      this.#faults.add("INPUT_LIMIT", span, message);
      return undefined;
    }
    this.#count = together;
    const tensor = make(new Float64Array(count).fill(number));
    this.#filled.set(key, tensor);
    return tensor;
  }
}
