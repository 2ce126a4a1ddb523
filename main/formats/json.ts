/** JSON of untrusted files: parsed within limits, and read value by value with the type that is expected. */
import { WorkbenchError } from "../diagnostics/errors.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const strict = new TextDecoder("utf-8", { fatal: true });

export function parseJson(file: string, bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(strict.decode(bytes));
  } catch (cause) {
    throw new WorkbenchError("INPUT_MALFORMED", `[${file}] ${what}: got ${bytes.byteLength} bytes that are not JSON`, {
      hint: "The file is damaged or cut off; download or copy it again.",
      cause,
    });
  }
}

/** The members of an object, each read with a type. Anything else than an object has none. */
export class Json {
  readonly value: JsonObject;
  constructor(value: unknown) {
    this.value = isObject(value) ? value : {};
  }
  /** The first of these keys that has a value; null counts as absent. */
  get(...keys: readonly string[]): unknown {
    const found = keys.find((key) => Object.hasOwn(this.value, key) && this.value[key] !== null);
    return found === undefined ? undefined : this.value[found];
  }
  number(...keys: readonly string[]): number | undefined {
    const value = this.get(...keys);
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  }
  text(...keys: readonly string[]): string | undefined {
    const value = this.get(...keys);
    return typeof value === "string" ? value : undefined;
  }
  flag(...keys: readonly string[]): boolean | undefined {
    const value = this.get(...keys);
    return typeof value === "boolean" ? value : undefined;
  }
  list(...keys: readonly string[]): readonly unknown[] {
    const value = this.get(...keys);
    return Array.isArray(value) ? value : [];
  }
  child(...keys: readonly string[]): Json {
    return new Json(this.get(...keys));
  }
}
