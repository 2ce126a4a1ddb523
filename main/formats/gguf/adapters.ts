/**
 * LoRA adapters as GGUF files: what makes a file one, whether it fits a model, and a model's file with adapters. Nothing is
 * added to the stored weights: A and B stay tensors of their own, and the graph multiplies by both.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { LowRank } from "../../ir/graph.ts";
import { dequantize } from "../quant/dequantize.ts";
import type { GgufAdapter, GgufFile, GgufTensor } from "./file.ts";
import { quote } from "./header.ts";

export interface AdapterChoice {
  readonly file: GgufFile;
  /** 1 applies it as it was trained. */
  readonly scale: number;
}

const [A, B] = [".lora_a", ".lora_b"];
const EMBEDDING = "token_embd.weight";

/** The model with these adapters; throws for a file that is none, or that belongs to another model. */
export function withAdapters(model: GgufFile, choices: readonly AdapterChoice[]): GgufFile {
  if (choices.length === 0) return model;
  for (const { name, made } of [model, ...choices.map(({ file }) => file)])
    if (made !== undefined)
      throw new WorkbenchError(
        "INPUT_ARGUMENT",
        `[adapter] ${name}: got ${made.from}, expected a GGUF as engines map it`,
        {
          hint: "Write it as a GGUF first, with `rlx convert`.",
        },
      );
  return model.withAdapters(
    choices.map(({ file, scale }, i) => {
      if (!Number.isFinite(scale))
        throw new WorkbenchError("INPUT_ARGUMENT", `[${file.name}] scale: got ${scale}, expected a number`, {
          hint: "1 applies the adapter as it was trained.",
        });
      checkFits(file, model);
      const alpha = file.metadata.optionalNumber("adapter.lora.alpha") ?? 0;
      if (!Number.isFinite(alpha)) throw noAdapter(file, `adapter.lora.alpha: got ${alpha}, expected a number`);
      return { file, use: { name: file.name, prefix: `lora.${i}.`, alpha, scale } };
    }),
  );
}

/** A file that is written holds the model alone. */
export function requireNoAdapters({ name, adapters }: GgufFile, what: string): void {
  if (adapters.length === 0) return;
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[${what}] ${name}: got a model with ${adapters.length === 1 ? "an adapter" : `${adapters.length} adapters`}, expected one without`,
    { hint: "Open the model without adapters: they stay files of their own." },
  );
}

/** What a graph needs to know of the adapters of a file. */
export const adaptersOf = (file: GgufFile): readonly LowRank[] =>
  file.adapters.map(({ prefix, alpha, scale }: GgufAdapter) => ({
    rankOf: (tensor) => file.tensor(`${prefix}${tensor}${B}`)?.shape.at(-1),
    factor: (rank) => (alpha === 0 ? scale : (scale * alpha) / rank),
    parts: (tensor) => ({ a: `${prefix}${tensor}${A}`, b: `${prefix}${tensor}${B}` }),
  }));

/** What an adapter adds to a tensor, in numbers: factor · B A. */
export interface LowRankNumbers {
  readonly tensor: string;
  readonly rank: number;
  readonly factor: number;
  readonly a: Float32Array;
  readonly b: Float32Array;
}

/** The numbers of all adapters of a file, in its order. */
export async function readLowRank(file: GgufFile, signal?: AbortSignal): Promise<readonly LowRankNumbers[]> {
  const own = file.tensors.filter(({ part }) => file.parts[part]?.isAdapter !== true);
  const found: LowRankNumbers[] = [];
  for (const { rankOf, factor, parts } of adaptersOf(file))
    for (const { name } of own) {
      const rank = rankOf(name);
      if (rank === undefined) continue;
      const { a, b } = parts(name);
      const read = (part: string): Promise<Float32Array> => numbersOf(file, file.requireTensor(part), signal);
      found.push({ tensor: name, rank, factor: factor(rank), a: await read(a), b: await read(b) });
    }
  return found;
}

async function numbersOf(file: GgufFile, tensor: GgufTensor, signal?: AbortSignal): Promise<Float32Array> {
  const { element, name } = tensor.type;
  if (element === undefined)
    throw new WorkbenchError(
      "UNSUPPORTED_TENSOR_TYPE",
      `[${file.name}] tensor ${tensor.name} is ${name}: cannot be read`,
    );
  return dequantize(element, await file.readTensor(tensor, { signal }), tensor.elements);
}

function checkFits(adapter: GgufFile, model: GgufFile): void {
  const text = (file: GgufFile, key: string): string | undefined =>
    file.metadata.get(key)?.kind === "string" ? file.metadata.optionalString(key) : undefined;
  const type = text(adapter, "general.type");
  if (type !== "adapter")
    throw noAdapter(adapter, `general.type: got ${type === undefined ? "none" : quote(type)}, expected "adapter"`);
  const kind = text(adapter, "adapter.type");
  if (kind !== "lora")
    throw noAdapter(adapter, `adapter.type: got ${kind === undefined ? "none" : quote(kind)}, expected "lora"`);
  const [own, its] = [text(model, "general.architecture"), text(adapter, "general.architecture")];
  if (own !== its)
    throw misfit(adapter, `general.architecture: got ${quote(its ?? "none")}, expected ${quote(own ?? "none")}`);
  if (adapter.tensors.length === 0) throw noAdapter(adapter, "it has no tensors");
  for (const tensor of adapter.tensors) checkTensor(adapter, model, tensor);
}

function checkTensor(adapter: GgufFile, model: GgufFile, tensor: GgufTensor): void {
  const suffix = [A, B].find((end) => tensor.name.endsWith(end));
  if (suffix === undefined)
    throw noAdapter(adapter, `tensor ${quote(tensor.name)}: got another name, expected one that ends in ${A} or ${B}`);
  const name = tensor.name.slice(0, -suffix.length);
  const [a, b, weight] = [adapter.tensor(name + A), adapter.tensor(name + B), model.tensor(name)];
  if (a === undefined || b === undefined)
    throw noAdapter(adapter, `tensor ${quote(tensor.name)}: got no ${suffix === A ? B : A} to it, expected both`);
  if (weight === undefined)
    throw misfit(adapter, `tensor ${quote(tensor.name)}: got no ${quote(name)} in ${model.name}, expected it there`);
  const rank = b.shape.at(-1) ?? 0;
  const wanted = partShapes(name, weight.shape, rank);
  for (const [part, shape] of [[a, wanted.a] as const, [b, wanted.b] as const])
    if (rank === 0 || part.shape.join() !== shape.join())
      throw misfit(
        adapter,
        `tensor ${quote(part.name)}: got [${part.shape.join(", ")}], expected [${shape.join(", ")}] for the model's [${weight.shape.join(", ")}]`,
      );
}

/** Shapes of A and B: A takes rows of the matrix to the rank, except for the embedding, whose A has a row for each token. */
export function partShapes(
  name: string,
  shape: readonly number[],
  rank: number,
): { readonly a: readonly number[]; readonly b: readonly number[] } {
  const before = shape.slice(0, -2);
  const [rows = 0, columns = 0] = shape.slice(-2);
  return name === EMBEDDING
    ? { a: [rows, rank], b: [columns, rank] }
    : { a: [...before, rank, columns], b: [...before, rows, rank] };
}

const noAdapter = (file: GgufFile, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[${file.name}] no LoRA adapter: ${what}`, {
    hint: "Choose a GGUF file that was converted from a LoRA adapter.",
  });

const misfit = (file: GgufFile, what: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[${file.name}] the adapter does not fit the model: ${what}`, {
    hint: "Choose the model that the adapter was trained on.",
  });
