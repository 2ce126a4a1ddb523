/** Graphs as text (docs/ir-text.md): what is wrong with one, one layout, derivatives, and a run; and the ops in them. */
import { z } from "zod";
import type { View } from "../define.ts";
import { distance } from "../distance.ts";
import { f64, modelId, targetSpec, u8 } from "./common.ts";
import { DEFAULT_DEVICE, runDevice } from "./engine.ts";
import { precision } from "./graph.ts";

export const LONGEST_TEXT = 64 << 20;
/** Of symbols of a graph. */
export const symbolSizes = z.record(
  z.string(),
  z
    .number()
    .int()
    .min(0)
    .max(1 << 24),
);
export const graphText = z.string().max(LONGEST_TEXT);
/** What its faults call a text, "net.rlx" of `[net.rlx:1:1]`; "text" without one. */
const textName = z.string().min(1).max(1024).optional();
/** Offsets in the text. */
const span = { start: z.number(), end: z.number() };
const typed = z.object({ name: z.string(), type: z.string() });

const textDiagnostic = z.object({
  code: z.string(),
  message: z.string(),
  ...span,
  /** From 1. */
  line: z.number(),
  column: z.number(),
  fix: z.object({ title: z.string(), ...span, text: z.string() }).nullable(),
});
export type TextDiagnostic = View<typeof textDiagnostic>;

/** The file that a text was read from, and what it said then, or when it was written last: `hashText` of it. */
export const textFile = z.object({ path: z.string().min(1).max(4096), hash: z.string().min(1).max(64) });
export type TextFile = View<typeof textFile>;

export const textInput = z.object({ text: graphText });
export const readTextInput = textInput.extend({
  /** With the types of the values of the outer graph. */
  types: z.boolean().default(false),
});
export const textReport = z.object({
  diagnostics: z.array(textDiagnostic),
  /** By the offset of the word that defines the value; several where it has several results. Empty where not asked for. */
  types: z.array(z.object({ start: z.number(), types: z.array(z.string()) })),
  /** Null where something is wrong. */
  graph: z
    .object({
      name: z.string(),
      hash: z.string(),
      operations: z.number(),
      inputs: z.array(typed),
      params: z.array(typed),
      states: z.array(typed),
      outputs: z.array(typed),
    })
    .nullable(),
});
export type TextReport = View<typeof textReport>;

/** Null where the text cannot be read. */
export const formattedText = z.object({ text: z.string().nullable(), diagnostics: z.array(textDiagnostic) });

const names = z.array(z.string().min(1).max(1000)).max(10_000);
export const deriveInput = z.object({
  text: graphText,
  name: textName,
  how: z.discriminatedUnion("kind", [
    /** Of one output that is one number, by inputs and parameters in floats: all of them without names. */
    z.object({ kind: z.literal("grad"), of: z.string().nullable().default(null), wrt: names.default([]) }),
    /** Over the inputs of these names: all of them without any. */
    z.object({
      kind: z.literal("vmap"),
      size: z.union([
        z
          .number()
          .int()
          .min(0)
          .max(1 << 24),
        z.string().min(1).max(64),
      ]),
      inputs: names.default([]),
    }),
  ]),
});
export type Derivation = View<typeof deriveInput>["how"];
export const derivedText = z.object({ text: z.string() });

const numbers = z.array(z.number()).max(1 << 22);
const array = z.string().min(1).max(1024).optional();
export const LARGEST_SENT_ARRAY = 8 << 20;
const arrayBytes = u8.refine(({ byteLength }) => byteLength <= LARGEST_SENT_ARRAY, "at most 8 MiB");
export const runTextInput = z.object({
  text: graphText,
  name: textName,
  device: runDevice.default(DEFAULT_DEVICE),
  /**
   * By name: numbers row by row, or a .npy or .npz file, on the engine's machine or sent. An input without any is drawn
   * from the seed. The array of an archive has the input's name, where `array` says no other.
   */
  inputs: z
    .record(
      z.string(),
      z.union([
        z.object({ numbers }),
        z.object({ path: z.string().min(1).max(4096), array }),
        z.object({ name: z.string().min(1).max(1024), bytes: arrayBytes, array }),
      ]),
    )
    .default({}),
  symbols: symbolSizes.default({}),
  seed: z.number().int().min(0).max(0xffff_ffff).default(1),
  /** Runs, of which the outputs of the last are told. */
  repeats: z.number().int().min(1).max(10_000).default(1),
  /** With the time of each step, where the device tells it. */
  profile: z.boolean().default(false),
  /** Most values of each output that are told. */
  values: z
    .number()
    .int()
    .min(0)
    .max(1 << 26)
    .default(1 << 26),
  /** What packages are made for; null: this machine, or the engine's own. */
  target: targetSpec.nullable().default(null),
});
export type RunTextInput = View<typeof runTextInput>;
export const textRun = z.object({
  device: z.string(),
  sentence: z.string(),
  /** The shortest run. */
  seconds: z.number(),
  compileSeconds: z.number(),
  times: z.array(z.number()),
  /** Of the last run, in order; null where the device tells none. */
  steps: z.array(z.object({ kernel: z.string(), op: z.string(), label: z.string(), seconds: z.number() })).nullable(),
  symbols: z.record(z.string(), z.number()),
  inputs: z.array(typed),
  outputs: z.array(
    z.object({
      name: z.string(),
      dtype: z.string(),
      shape: z.array(z.number()),
      count: z.number(),
      /** Of what is finite; null where nothing is. */
      least: z.number().nullable(),
      most: z.number().nullable(),
      mean: z.number().nullable(),
      /** NaN and infinities. */
      odd: z.number(),
      /** The first of them. */
      values: f64,
      /** Largest distance from the float64 reference. */
      error: distance,
    }),
  ),
});
export type TextRun = View<typeof textRun>;

/** A run of the graph as it stands after each pass. */
const given = { text: true, name: true, device: true, inputs: true, symbols: true, seed: true } as const;
export const bisectTextInput = runTextInput.pick(given).extend({
  precision: precision.default("f32"),
  /** A step changes the result when it moves it by more than this part of its largest number. */
  tolerance: z.number().min(0).max(1).default(1e-5),
});
export type BisectTextInput = View<typeof bisectTextInput>;
export const textBisection = z.object({
  device: z.string(),
  /** The first that changes the result; null where none does. */
  step: z.string().nullable(),
  sentence: z.string(),
  steps: z.array(
    z.object({
      name: z.string(),
      nodes: z.number(),
      /** How often the pass found what it looks for. */
      hits: z.number(),
      /** From the step before. */
      change: distance,
      /** From the float64 reference. */
      error: distance,
    }),
  ),
});
export type TextBisection = View<typeof textBisection>;
export const textSourceInput = z.object({ model: modelId });
export const textSource = z.object({ name: z.string(), file: textFile.nullable(), text: graphText });
/** A file that says something else than `was` is written over only with `overwrite`. */
export const saveTextInput = z.object({
  path: textFile.shape.path,
  text: graphText,
  was: textFile.shape.hash.nullable(),
  overwrite: z.boolean().default(false),
});

/** A small graph to start from. */
const galleryEntry = z.object({ id: z.string(), title: z.string(), sentence: z.string(), text: z.string() });
export const galleryList = z.object({ graphs: z.array(galleryEntry) });
export type GalleryEntry = View<typeof galleryEntry>;

const opFacts = z.object({
  name: z.string(),
  summary: z.string(),
  /** "2", "2 to 3", "1 or more". */
  arity: z.string(),
  operands: z.array(z.string()),
  results: z.array(z.string()),
  attributes: z.array(z.object({ name: z.string(), expects: z.string() })),
  traits: z.array(z.string()),
  /** Of each backend, the gradient and batching. */
  support: z.array(z.object({ of: z.string(), how: z.string(), reason: z.string().nullable() })),
  /** What it is by an implementation that is not ours, as Python: operands `x0`, `x1` …, attributes `a`, the result's shape `s`. */
  oracle: z.object({ by: z.enum(["numpy", "jax"]), python: z.string() }),
  samples: z.array(z.string()),
});
export type OpFacts = View<typeof opFacts>;
export const opList = z.object({ ops: z.array(opFacts) });
export const opSampleInput = z.object({ op: z.string().min(1).max(100), sample: z.number().int().min(0).max(10_000) });
