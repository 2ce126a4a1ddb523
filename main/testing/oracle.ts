/**
 * Outside answers for the tests: NumPy, JAX, MLX, ggml, the gguf package, coremltools, Jinja2.
 * Every function asks the Python process of this test worker. How to use them: docs/testing.md.
 */
import { sharedOracleProcess, whyMissing } from "./oracleProcess.ts";
import type { OracleData, OracleTensor, OracleValue } from "./oracleProcess.ts";

export { OracleError } from "./oracleProcess.ts";
export type { OracleData, OracleTensor, OracleValue } from "./oracleProcess.ts";

export type OracleInputs = { readonly [name: string]: OracleValue };

/** Undefined when the oracle can be asked, otherwise the reason to show beside the skipped test. */
export const oracleMissing = (): string | undefined => whyMissing("python");

export function ask(question: string, values?: OracleInputs): Promise<OracleValue> {
  return sharedOracleProcess("python").ask(question, values);
}

/** A tensor to send; numbers become f64 storage and Python casts them to `dtype`. */
export function tensor(dtype: string, shape: readonly number[], data: ArrayLike<number>): OracleTensor {
  return { dtype, shape, data: Float64Array.from(data) };
}

/** The numbers of an answer. Throws on 64-bit integers that float64 would round. */
export function numbersOf(data: OracleData): Float64Array {
  if (!(data instanceof BigInt64Array || data instanceof BigUint64Array)) return Float64Array.from(data);
  return Float64Array.from(data, (value) => {
    const number = Number(value);
    if (BigInt(number) !== value) throw new Error(`${value} is not exact as a number`);
    return number;
  });
}

export interface NumericTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

function isTensor(value: OracleValue): value is OracleTensor {
  return typeof value === "object" && value !== null && "dtype" in value && "data" in value;
}

export function numeric(value: OracleValue): NumericTensor {
  if (!isTensor(value)) throw new Error(`expected an array from the oracle, got ${JSON.stringify(value)}`);
  return { dtype: value.dtype, shape: value.shape, data: numbersOf(value.data) };
}

const numericList = (value: OracleValue): NumericTensor[] =>
  Array.isArray(value) ? value.map((item: OracleValue) => numeric(item)) : [numeric(value)];

const record = (value: OracleValue): { readonly [key: string]: OracleValue } =>
  value as { readonly [key: string]: OracleValue };

/** Evaluates Python: statements, then an expression. One array, or one per tuple element. */
export async function numpyEval(expression: string, inputs: OracleInputs = {}): Promise<NumericTensor[]> {
  return numericList(await ask("numpy.eval", { expression, inputs }));
}
export async function jaxEval(expression: string, inputs: OracleInputs = {}): Promise<NumericTensor[]> {
  return numericList(await ask("jax.eval", { expression, inputs }));
}
export async function mlxEval(expression: string, inputs: OracleInputs = {}): Promise<NumericTensor[]> {
  return numericList(await ask("mlx.eval", { expression, inputs }));
}

/** Value and gradients by input name. `wrt` defaults to all inputs; the others are constants. */
export async function jaxVjp(
  expression: string,
  inputs: OracleInputs,
  cotangents: readonly OracleTensor[],
  wrt?: readonly string[],
): Promise<{ readonly value: NumericTensor[]; readonly gradients: { readonly [name: string]: NumericTensor } }> {
  const answer = record(await ask("jax.vjp", { expression, inputs, cotangents, ...(wrt ? { wrt } : {}) }));
  const gradients = Object.entries(record(answer["gradients"])).map(([name, value]) => [name, numeric(value)] as const);
  return { value: numericList(answer["value"]), gradients: Object.fromEntries(gradients) };
}

export async function jaxJvp(
  expression: string,
  inputs: OracleInputs,
  tangents: OracleInputs,
): Promise<{ readonly value: NumericTensor[]; readonly tangent: NumericTensor[] }> {
  const answer = record(await ask("jax.jvp", { expression, inputs, tangents }));
  return { value: numericList(answer["value"]), tangent: numericList(answer["tangent"]) };
}

/** ggml's own dequantize_row: f32, bit for bit. */
export async function ggmlDequantize(type: string, data: Uint8Array, count: number): Promise<Float32Array> {
  const answer = await ask("ggml.dequantize", { type, data, count });
  return (answer as OracleTensor).data as Float32Array;
}

/** ggml's own quantizer on f32 rows; `importance` is one number for each column. */
export async function ggmlQuantize(
  type: string,
  values: Float32Array,
  shape: readonly [rows: number, columns: number],
  importance: Float32Array | null = null,
): Promise<Uint8Array> {
  return (await ask("ggml.quantize", rowsToPack(type, values, shape, importance))) as Uint8Array;
}

/** Processor time in which ggml packs these rows on one thread, in seconds, each time. */
export async function ggmlQuantizeSeconds(
  type: string,
  values: Float32Array,
  shape: readonly [rows: number, columns: number],
  importance: Float32Array | null,
  repeats: number,
): Promise<readonly number[]> {
  const rows = rowsToPack(type, values, shape, importance);
  return (await ask("ggml.quantize_seconds", { ...rows, repeats })) as readonly number[];
}

const rowsToPack = (
  type: string,
  data: Float32Array,
  shape: readonly [rows: number, columns: number],
  importance: Float32Array | null,
): Readonly<Record<string, OracleValue>> => ({
  type,
  values: { dtype: "f32", shape, data },
  ...(importance !== null && { importance: { dtype: "f32", shape: [importance.length], data: importance } }),
});

/** The gguf package's dequantisation, independent of ggml's. */
export async function ggufPackageDequantize(
  type: string,
  data: Uint8Array,
  shape: readonly number[],
): Promise<Float32Array> {
  return ((await ask("ggml.package_dequantize", { type, data, shape })) as OracleTensor).data as Float32Array;
}

/** The gguf package's packing, independent of ggml's. */
export async function ggufPackageQuantize(
  type: string,
  values: Float32Array,
  shape: readonly [rows: number, columns: number],
): Promise<Uint8Array> {
  return (await ask("ggml.package_quantize", rowsToPack(type, values, shape, null))) as Uint8Array;
}

export interface GgufListing {
  readonly version: number;
  readonly fields: { readonly [name: string]: OracleValue };
  readonly tensors: readonly {
    readonly name: string;
    readonly type: string;
    readonly shape: readonly number[];
    readonly offset: number;
    readonly bytes: number;
  }[];
}

/** Metadata and tensor table as the gguf package reads them. Shapes are row-major ([out, in]). */
export async function ggufRead(path: string): Promise<GgufListing> {
  return (await ask("ggml.read_file", { path })) as unknown as GgufListing;
}

/** One tensor of a GGUF file as f32, by the gguf package. */
export async function ggufReadTensor(path: string, name: string): Promise<NumericTensor> {
  return numeric(await ask("ggml.read_tensor", { path, name }));
}

export interface MilOutput {
  /** Null where coremltools has no evaluation for this op. */
  readonly value: NumericTensor | string | null;
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** One MIL op by coremltools' value inference. `elementTypes`: types that NumPy lacks, by input. */
export async function milEval(
  op: string,
  inputs: OracleInputs,
  elementTypes: Readonly<Record<string, "int4" | "uint4">> = {},
): Promise<MilOutput[]> {
  return milOutputs(await ask("coreml.mil_eval", { op, inputs, element_types: elementTypes }));
}

/** A branch of `milCond`: one op on the operand `x`, with its other arguments. */
export type MilBranch = readonly [op: string, more: OracleInputs];

/** `cond` with a known predicate, by coremltools' value inference. */
export async function milCond(
  flag: boolean,
  operand: OracleTensor,
  branches: readonly [MilBranch, MilBranch],
): Promise<MilOutput[]> {
  return milOutputs(await ask("coreml.mil_cond", { flag, operand, branches: branches.map((branch) => [...branch]) }));
}

function milOutputs(answer: OracleValue): MilOutput[] {
  return (answer as readonly OracleValue[]).map((item) => {
    const { value, dtype, shape } = record(item);
    return {
      value: value === null || typeof value === "string" ? value : numeric(value),
      dtype: dtype as string,
      shape: shape as readonly number[],
    };
  });
}

export interface PackageFindings {
  readonly errors: number;
  readonly warnings: number;
  readonly rows: readonly (readonly [severity: string, layer: string, where: string, text: string])[];
}

/** python/validate_mlpackage.py on a package; `--strict` means errors and warnings are both 0. */
export async function validatePackage(
  path: string,
  options: { readonly frontend?: boolean; readonly fakeWeights?: boolean } = {},
): Promise<PackageFindings> {
  const { frontend = true, fakeWeights = false } = options;
  return (await ask("coreml.validate", { path, frontend, fake_weights: fakeWeights })) as unknown as PackageFindings;
}

export interface InputShapes {
  readonly shape: readonly number[];
  readonly range: readonly (readonly [number, number])[] | null;
  readonly enumerated: readonly (readonly number[])[] | null;
}

/** The inputs of each function of a package, as coremltools reads them. */
export async function packageInputs(
  path: string,
): Promise<Readonly<Record<string, Readonly<Record<string, InputShapes>>>>> {
  return (await ask("coreml.input_shapes", { path })) as unknown as Awaited<ReturnType<typeof packageInputs>>;
}

/** Jinja2 set up as for Hugging Face chat templates. */
export async function jinjaRender(template: string, values: OracleInputs): Promise<string> {
  return (await ask("jinja.render", { template, values })) as string;
}
