/**
 * Small packages, each of which asks one question about Core ML that needs a Mac: what the format
 * allows and the documentation leaves open. The expected answer is the simulator's from the same file.
 */
import { BlobPlan } from "../../../backends/coreml/blob.ts";
import { CoreML } from "../../../backends/coreml/generated/proto.js";
import { f32ToF16Array } from "../../../quant/half.ts";
import { packBits } from "../../../backends/coreml/mil/bits.ts";
import type { MilConstant, MilDtype, MilFunction, MilOperation } from "../../../backends/coreml/mil/types.ts";
import { elementCount, MIL_DTYPES, tensorType } from "../../../backends/coreml/mil/types.ts";
import { MODEL_PATH, writePackage } from "../../../backends/coreml/package.ts";
import { seededRandom } from "../../../runtime/statistics.ts";
import { packageWriter } from "../../files/packageDirectory.ts";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface Experiment {
  readonly id: string;
  readonly question: string;
  /** Behaviour of the workbench until the answer is known. */
  readonly until: string;
  readonly functions: readonly string[];
  write(path: string): Promise<void>;
  /** The same with nothing left open, where the simulator could not run the question itself. */
  reference?(path: string): Promise<void>;
}

/** Rows and columns of the weight, and columns of a block with a scale of its own. */
const [ROWS, COLUMNS, BLOCKS] = [64, 64, 2];
const half = (shape: readonly number[]): ReturnType<typeof tensorType> => tensorType("fp16", shape);
const named = (name: string): { readonly kind: "name"; readonly name: string } => ({ kind: "name", name });

function bytesFor(dtype: MilDtype, values: readonly number[]): Uint8Array {
  if (dtype !== "fp16") return packBits(MIL_DTYPES[dtype].bits, values);
  const halves = f32ToF16Array(values);
  return new Uint8Array(halves.buffer, halves.byteOffset, halves.byteLength);
}

/** A program under construction, with its weight file. */
class Draft {
  readonly blob = new BlobPlan();
  readonly operations: MilOperation[] = [];
  readonly #records = new Map<number, Uint8Array>();
  readonly #random = seededRandom(5);

  numbers(count: number, low: number, high: number): number[] {
    return Array.from({ length: count }, () => low + this.#random() * (high - low));
  }

  whole(count: number, low: number, high: number): number[] {
    return this.numbers(count, low, high + 1).map(Math.floor);
  }

  /** A constant in the weight file; the same key is the same record. */
  stored(name: string, dtype: MilDtype, shape: readonly number[], values: readonly number[], key = name): string {
    const record = this.blob.place(key, dtype, elementCount(shape));
    this.#records.set(record.dataOffset, bytesFor(dtype, values));
    return this.#constant(name, { type: tensorType(dtype, shape), data: { kind: "blob", offset: record.offset } });
  }

  immediate(name: string, dtype: MilDtype, shape: readonly number[], values: readonly number[]): string {
    return this.#constant(name, { type: tensorType(dtype, shape), data: { kind: "numbers", values } });
  }

  #constant(name: string, value: MilConstant): string {
    this.operations.push({
      type: "const",
      name,
      inputs: [],
      outputs: [{ name, type: value.type }],
      value,
      origins: [],
    });
    return name;
  }

  add(type: string, name: string, shape: readonly number[], inputs: Readonly<Record<string, string>>): string {
    this.operations.push({
      type,
      name,
      inputs: Object.entries(inputs).map(([argument, value]) => [argument, [named(value)]] as const),
      outputs: [{ name, type: half(shape) }],
      origins: [],
    });
    return name;
  }

  /** y = x · weightᵀ, with x the input [1, COLUMNS]. */
  function(name: string, weight: string): MilFunction {
    const bias = this.immediate("bias", "fp16", [ROWS], new Array<number>(ROWS).fill(0));
    const y = this.add("linear", "y", [1, ROWS], { x: "x", weight, bias });
    return this.finish(name, y);
  }

  finish(name: string, output: string): MilFunction {
    const operations = this.operations.splice(0);
    return { name, opset: "CoreML8", inputs: [{ name: "x", type: half([1, COLUMNS]) }], operations, outputs: [output] };
  }

  async write(path: string, functions: readonly MilFunction[]): Promise<void> {
    const metadata = { shortDescription: "experiment", author: "", license: "", version: "1", userDefined: {} };
    await writePackage(
      await packageWriter(path),
      this.blob,
      async (sink) => {
        for (const [offset, bytes] of this.#records) await sink.write(offset, bytes);
      },
      () => ({
        program: { functions, buildInfo: {} },
        opset: "CoreML8",
        defaultFunction: functions[0]?.name ?? "main",
        metadata,
      }),
    );
  }
}

const WEIGHT = [ROWS, COLUMNS] as const;
const SCALES = [ROWS, BLOCKS] as const;
const SCALE_COUNT = ROWS * BLOCKS;

/** An experiment of one function over one weight. */
const ofWeight = (id: string, question: string, until: string, weight: (draft: Draft) => string): Experiment => ({
  id,
  question,
  until,
  functions: ["main"],
  write: async (path) => {
    const draft = new Draft();
    await draft.write(path, [draft.function("main", weight(draft))]);
  },
});

const blockwise = (
  draft: Draft,
  name: string,
  parts: Readonly<Record<string, string>>,
  shape: readonly number[] = WEIGHT,
): string => draft.add("constexpr_blockwise_shift_scale", name, shape, parts);

function nibbles(draft: Draft, dtype: "uint4" | "int4"): string {
  const [low, high] = dtype === "uint4" ? [0, 15] : [-8, 7];
  return draft.stored("data", dtype, WEIGHT, draft.whole(ROWS * COLUMNS, low, high));
}

/** Pins every computing operator of a written package, by the attribute that coremltools' experimental pass writes. */
async function pin(path: string, backend: string): Promise<void> {
  const file = join(path, MODEL_PATH);
  const model = CoreML.Specification.Model.decode(await readFile(file));
  const text = { tensorType: { dataType: MIL_DTYPES.string.proto, rank: 0, dimensions: [] } };
  const value = { type: text, immediateValue: { tensor: { strings: { values: [backend] } } } };
  const list = {
    type: { listType: { type: text, length: { constant: { size: 1 } } } },
    immediateValue: { list: { values: [value] } },
  };
  for (const one of Object.values(model.mlProgram?.functions ?? {}))
    for (const block of Object.values(one.block_specializations ?? {}))
      for (const operation of block.operations ?? [])
        if (operation.type === "linear") operation.attributes = { ...operation.attributes, IntendedBackend: list };
  await writeFile(file, CoreML.Specification.Model.encode(model).finish());
}

export const EXPERIMENTS: readonly Experiment[] = [
  ofWeight(
    "float-offset",
    "May constexpr_blockwise_shift_scale have a float offset beside integer data?",
    "The offset is split into a whole one and a rest.",
    (draft) =>
      blockwise(draft, "weight", {
        data: nibbles(draft, "uint4"),
        scale: draft.stored("scale", "fp16", SCALES, draft.numbers(SCALE_COUNT, 0.01, 0.05)),
        offset: draft.stored("offset", "fp16", SCALES, draft.numbers(SCALE_COUNT, 6.2, 8.7)),
      }),
  ),
  ofWeight("negative-scale", "May a scale be negative?", "Scales are written with their sign.", (draft) =>
    blockwise(draft, "weight", {
      data: nibbles(draft, "int4"),
      scale: draft.stored("scale", "fp16", SCALES, draft.numbers(SCALE_COUNT, -0.05, 0.05)),
    }),
  ),
  ofWeight(
    "table-then-scale",
    "May a table of values be the data of a scale (macOS 15 against 26)?",
    "Tables are written with their scales multiplied in.",
    (draft) => {
      const indices = nibbles(draft, "uint4");
      const lut = draft.stored("lut", "fp16", [1, 1, 16, 1], draft.numbers(16, -1, 1));
      const data = draft.add("constexpr_lut_to_dense", "looked_up", WEIGHT, { indices, lut });
      const scale = draft.stored("scale", "fp16", SCALES, draft.numbers(SCALE_COUNT, 0.01, 0.05));
      return blockwise(draft, "weight", { data, scale });
    },
  ),
  ofWeight("scale-of-scales", "May the scales be compressed themselves?", "Scales are fp16.", (draft) => {
    const whole = draft.stored("whole", "uint8", SCALES, draft.whole(SCALE_COUNT, 1, 63));
    const outer = draft.stored("outer", "fp16", [ROWS, 1], draft.numbers(ROWS, 0.0005, 0.001));
    const scale = blockwise(draft, "scale", { data: whole, scale: outer }, SCALES);
    return blockwise(draft, "weight", { data: nibbles(draft, "int4"), scale });
  }),
  {
    id: "pin",
    question: "Does the attribute IntendedBackend pin an operator to the CPU?",
    until: "No operator is pinned.",
    functions: ["main"],
    write: async (path) => {
      const draft = new Draft();
      await draft.write(path, [
        draft.function("main", draft.stored("weight", "fp16", WEIGHT, draft.numbers(ROWS * COLUMNS, -0.1, 0.1))),
      ]);
      await pin(path, "classic_cpu");
    },
  },
  {
    id: "shared-weights",
    question: "May two functions refer to the same record of the weight file?",
    until: "They do: decode and prefill share their weights.",
    functions: ["decode", "prefill"],
    write: async (path) => {
      const draft = new Draft();
      const values = draft.numbers(ROWS * COLUMNS, -0.1, 0.1);
      const functions = ["decode", "prefill"].map((name) =>
        draft.function(name, draft.stored("weight", "fp16", WEIGHT, values)),
      );
      await draft.write(path, functions);
    },
  },
  {
    id: "left-out",
    question: "Do optional arguments take their documented defaults when they are left out?",
    until: "Every argument is written.",
    functions: ["main"],
    write: async (path) => {
      const draft = new Draft();
      await draft.write(path, [draft.finish("main", draft.add("softmax", "y", [1, COLUMNS], { x: "x" }))]);
    },
    reference: async (path) => {
      const draft = new Draft();
      const axis = draft.immediate("axis", "int32", [], [-1]);
      await draft.write(path, [draft.finish("main", draft.add("softmax", "y", [1, COLUMNS], { x: "x", axis }))]);
    },
  },
];

export const experimentInput = (): Float32Array => {
  const random = seededRandom(9);
  return Float32Array.from({ length: COLUMNS }, () => Math.fround(random() * 2 - 1));
};
