/** The spec of a training: a JSON file or the name of a recipe, with what was said by options on top. */
import { resolve } from "node:path";
import type { z } from "zod";
import type { TrainSpecInput } from "../../contract/views/train.ts";
import { TRAIN_LIMITS, trainSpec } from "../../contract/views/train.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { wholeNumber } from "./client.ts";
import { isGraphText } from "./graphText.ts";
import { faultPlace, valuePlace } from "./jsonPlace.ts";
import type { TextReader } from "./text.ts";
import { readText, STANDARD_INPUT } from "./text.ts";

export interface SpecOptions {
  readonly model?: string;
  readonly data?: string;
  readonly steps?: string;
  readonly batch?: string;
  readonly accumulate?: string;
  readonly average?: string;
  readonly quantize?: string;
  readonly quantizeAfter?: string;
  readonly optimizer?: string;
  readonly lr?: string;
  readonly precision?: string;
  readonly device?: string;
  readonly onHost?: boolean;
  readonly seed?: string;
  readonly validateEvery?: string;
  readonly sampleEvery?: string;
  readonly prompt?: string;
  readonly checkpoint?: string;
  readonly checkpointEvery?: string;
  readonly resume?: string;
  readonly out?: string;
  readonly overwrite?: boolean;
  readonly field?: readonly string[];
}

const wrong = (message: string, hint: string): WorkbenchError =>
  new WorkbenchError("INPUT_ARGUMENT", `[rlx train] ${message}`, { hint });

/** A file is named by its ending: a spec, or a graph, whose parameters are trained. Anything else is a recipe. */
export async function specOf(given: string, options: SpecOptions, reader: TextReader): Promise<TrainSpecInput> {
  const isFile = given === STANDARD_INPUT || /\.json$/iu.test(given);
  const base = isFile ? readSpec(given, await readText(given, reader)) : specNamed(given);
  const spec = withOptions(base, options);
  const read = trainSpec.safeParse(spec);
  if (read.success) return spec;
  const { where, message } = faultIn(read.error);
  throw wrong(`${where}: ${message}`, "`rlx train` lists the recipes, and docs/training.md has every field of a spec.");
}

const specNamed = (given: string): TrainSpecInput =>
  isGraphText(given) ? { recipe: "graph", model: { kind: "path", path: resolve(given) } } : { recipe: given };

/** Every fault has a place in the file. */
function readSpec(file: string, text: string): TrainSpecInput {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const place = faultPlace(text, error instanceof Error ? error.message : "");
    const at = place === undefined ? "" : `:${place.line}:${place.column}`;
    throw wrong(`${file}${at}: got text that is no JSON`, 'A spec is one object: {"recipe": "digits", "steps": 300}.');
  }
  const read = trainSpec.safeParse(value);
  if (!read.success) {
    const { path, where, message } = faultIn(read.error);
    const { line, column } = valuePlace(text, path);
    throw wrong(`${file}:${line}:${column}: ${where}: ${message}`, "docs/training.md has every field of a spec.");
  }
  return value as TrainSpecInput;
}

function faultIn(error: z.ZodError): { path: readonly PropertyKey[]; where: string; message: string } {
  const [issue] = error.issues;
  const inner = issue?.code === "unrecognized_keys" ? issue.keys.slice(0, 1) : [];
  const path = [...(issue?.path ?? []), ...inner];
  const where = path.map(String).join(".") || "spec";
  if (inner.length > 0) return { path, where, message: "no field of a spec has this name" };
  return { path, where, message: (issue?.message ?? "not what a spec holds").replace(/^Invalid input: /u, "") };
}

const MOST_STEPS = 100_000_000;
const steps = (flag: string, text: string, least: number): number => wholeNumber(flag, text, least, MOST_STEPS);

function rateOf(text: string): number {
  const rate = Number(text);
  if (text.trim() !== "" && Number.isFinite(rate) && rate >= 0) return rate;
  throw wrong(`--lr: got ${text}, expected a number from 0`, "0.001 is usual for Adam.");
}

function decayOf(text: string): number {
  const decay = Number(text);
  if (text.trim() !== "" && decay >= 0 && decay < 1) return decay;
  throw wrong(
    `--average: got ${text}, expected a number from 0 that is below 1`,
    "0.999 looks back on a thousand steps.",
  );
}

/** "4" is the weights, "4,8" the activations too. */
function quantizeOf(
  base: TrainSpecInput["quantize"],
  { quantize, quantizeAfter }: SpecOptions,
): Pick<TrainSpecInput, "quantize"> {
  if (quantize === undefined && quantizeAfter === undefined) return {};
  const { bits } = TRAIN_LIMITS;
  const [weights, activations, ...more] = quantize?.split(",") ?? [];
  if (more.length > 0)
    throw wrong(
      `--quantize: got ${String(quantize)}, expected <weights> or <weights>,<activations>`,
      "--quantize 4,8 is weights in 4 bits and activations in 8.",
    );
  const own = weights === undefined ? base?.weights : wholeNumber("quantize", weights, bits.least, bits.weights);
  if (own === undefined)
    throw wrong("--quantize-after: got it without --quantize, expected both", "Say in how many bits the weights are.");
  return {
    quantize: {
      ...base,
      weights: own,
      ...(activations === undefined
        ? {}
        : { activations: wholeNumber("quantize", activations, bits.least, bits.activations) }),
      ...(quantizeAfter === undefined ? {} : { after: steps("quantize-after", quantizeAfter, 1) }),
    },
  };
}

/** Paths of a command line are those of its folder. */
function withOptions(base: TrainSpecInput, options: SpecOptions): TrainSpecInput {
  const { data, batch, optimizer, lr, precision, device, seed, checkpoint, resume, out, field, prompt } = options;
  if (options.checkpointEvery !== undefined && checkpoint === undefined && base.checkpoint === undefined)
    throw wrong("--checkpoint-every: got it without --checkpoint, expected both", "Name a file for it.");
  const every =
    options.checkpointEvery === undefined ? {} : { every: steps("checkpoint-every", options.checkpointEvery, 1) };
  const kept = checkpoint === undefined ? base.checkpoint : { path: resolve(checkpoint) };
  const sample = {
    ...(options.sampleEvery === undefined ? {} : { every: steps("sample-every", options.sampleEvery, 0) }),
    ...(prompt === undefined ? {} : { prompt }),
  };
  const output = out === undefined ? base.output : { path: resolve(out) };
  return {
    ...base,
    ...(options.model === undefined ? {} : { model: { kind: "path", path: resolve(options.model) } }),
    ...(data === undefined ? {} : { data: { kind: "path", path: resolve(data) } }),
    ...(options.steps === undefined ? {} : { steps: steps("steps", options.steps, 1) }),
    ...(batch === undefined ? {} : { batch: wholeNumber("batch", batch, 1, 65_536) }),
    ...(options.accumulate === undefined
      ? {}
      : { accumulate: wholeNumber("accumulate", options.accumulate, 1, TRAIN_LIMITS.accumulate) }),
    ...(options.average === undefined ? {} : { average: decayOf(options.average) }),
    ...quantizeOf(base.quantize, options),
    ...(optimizer === undefined ? {} : { optimizer: { name: optimizer } }),
    ...(lr === undefined ? {} : { lr: rateOf(lr) }),
    ...(precision === undefined ? {} : { precision: precision as "f32" }),
    ...(device === undefined ? {} : { device }),
    ...(options.onHost === true ? { fused: false } : {}),
    ...(seed === undefined ? {} : { seed: wholeNumber("seed", seed, 0, 2 ** 32 - 1) }),
    ...(options.validateEvery === undefined
      ? {}
      : { validation: { ...base.validation, every: steps("validate-every", options.validateEvery, 0) } }),
    ...(Object.keys(sample).length === 0 ? {} : { sample: { every: 100, ...base.sample, ...sample } }),
    ...(kept === undefined ? {} : { checkpoint: { ...kept, ...every } }),
    ...(resume === undefined ? {} : { resume: resolve(resume) }),
    ...(output === undefined
      ? {}
      : { output: { ...output, ...(options.overwrite === true ? { overwrite: true } : {}) } }),
    ...(field === undefined ? {} : { fields: { ...base.fields, ...Object.fromEntries(field.map(fieldOf)) } }),
  };
}

function fieldOf(text: string): readonly [string, string | number] {
  const [, name, value] = /^([A-Za-z]\w*)=(.+)$/su.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw wrong(`--field: got ${JSON.stringify(text)}, expected <name>=<value>`, "--field width=64");
  const number = Number(value);
  return [name, value.trim() !== "" && Number.isFinite(number) ? number : value];
}
