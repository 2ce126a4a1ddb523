/**
 * A decoder in a Core ML package as a session: a package runner runs its functions, drawing and scoring happen here. Generation,
 * scoring and cancel work over it as over the CPU engine.
 */
import type { RunResult, GraphRun, GraphSession } from "../ir/session.ts";
import { HOST_PARTS_KEY, bindingsOf } from "../backends/coreml/export.ts";
import { PackageDecoder } from "../backends/coreml/package/packageDecoder.ts";
import type { FeatureBinding } from "../backends/coreml/lowering/lower.ts";
import { PackageEmbedder } from "../backends/coreml/package/packageEmbedder.ts";
import type { PackageRunner } from "../backends/coreml/package/packageRunner.ts";
import type { PackageTensor } from "../backends/coreml/package/packageTensor.ts";
import { packageTensor } from "../backends/coreml/package/packageTensor.ts";
import { invariant, WorkbenchError } from "../diagnostics/errors.ts";
import { INPUTS, LOGITS } from "../models/blocks.ts";
import type { SourceEncoder } from "../models/family.ts";
import { EMBEDDING } from "../models/textGraph.ts";
import { DecoderSession } from "./decoderSession.ts";
import type { EmbedderModel } from "./embedderModel.ts";
import type { SourceReader } from "./sourceText.ts";

function integers(request: GraphRun, name: string, label: string): Int32Array {
  const data = request.inputs[name];
  if (data instanceof Int32Array) return data;
  throw new WorkbenchError("INPUT_ARGUMENT", `[${label}] input ${name}: expected i32 numbers`);
}

/** The decoder of a package that was exported from a template; `userDefined` is what the package says of itself. */
export function decoderIn(runner: PackageRunner, userDefined: Readonly<Record<string, string>>): PackageDecoder {
  if (userDefined[HOST_PARTS_KEY] !== undefined)
    throw new WorkbenchError(
      "UNSUPPORTED_TARGET",
      `[${runner.label}] the package holds parts of a step: others run on the host, and it does not have them`,
      { hint: "Open the model itself on device coreml or coreml-sim: both run the host parts, too." },
    );
  return new PackageDecoder(runner, bindingsOf(userDefined), {
    tokens: INPUTS.tokens,
    past: INPUTS.past,
    rows: INPUTS.rows,
    logits: LOGITS,
  });
}

/** What reads texts for the decoder of a package: its encoder, where the model has one. */
export function readerIn(
  runner: PackageRunner,
  userDefined: Readonly<Record<string, string>>,
  encoder: SourceEncoder | undefined,
): SourceReader | undefined {
  if (encoder === undefined) return undefined;
  const isLength = (b: FeatureBinding): boolean => b.kind === "input" && b.name === INPUTS.length;
  const [name, bindings] = Object.entries(bindingsOf(userDefined)).find(([, list]) => list.some(isLength)) ?? [];
  if (name === undefined || bindings === undefined)
    throw new WorkbenchError("INPUT_ARGUMENT", `[${runner.label}] the package: got no encoder, expected one`, {
      hint: "Export the model again.",
    });
  const largestText = bindings.find((b) => b.kind === "input" && b.name === INPUTS.tokens)?.shape[0] ?? 0;
  return {
    start: encoder.start,
    largestText,
    async read(tokens, signal) {
      const padded = new Int32Array(largestText);
      padded.set(tokens);
      const length = Int32Array.of(tokens.length);
      const given: Readonly<Record<string, Int32Array>> = { [INPUTS.tokens]: padded, [INPUTS.length]: length };
      const inputs: Record<string, PackageTensor> = {};
      for (const b of bindings)
        if (b.kind === "input") inputs[b.feature] = packageTensor(b.dtype, b.shape, given[b.name] ?? []);
      const made = await runner.function(name).predict(inputs, signal === undefined ? {} : { signal });
      const outputs = bindings.flatMap((b): (readonly [string, ArrayBufferView])[] => {
        const value = made[b.feature];
        return b.kind === "output" && value !== undefined ? [[b.name, value.data]] : [];
      });
      return { ...Object.fromEntries(outputs), [INPUTS.sourceLength]: length };
    },
  };
}

/** The embedder of a package that was exported from a graph of whole texts. */
export function embedderIn(
  runner: PackageRunner,
  userDefined: Readonly<Record<string, string>>,
  { pooling, labels, dispose }: Pick<EmbedderModel, "pooling" | "labels" | "dispose">,
): EmbedderModel {
  const names = { tokens: INPUTS.tokens, length: INPUTS.length, embedding: EMBEDDING };
  const embedder = new PackageEmbedder(runner, bindingsOf(userDefined), names);
  return {
    pooling,
    labels,
    dispose,
    largestText: embedder.largestText,
    embed: (tokens, signal) => embedder.embed(tokens, signal),
  };
}

export interface PackageSessionOptions {
  /** The runner times its own predictions: a run with `profile` is allowed and has no columns. */
  readonly clocked?: boolean;
}

export function packageSession(decoder: PackageDecoder, options: PackageSessionOptions = {}): GraphSession {
  const { label } = decoder;
  return {
    threads: 1,
    async run(request: GraphRun, signal?: AbortSignal): Promise<RunResult> {
      if (request.profile === true && options.clocked !== true)
        throw new WorkbenchError("UNSUPPORTED_TARGET", `[${label}] this device gives no profile`, {
          hint: "Use the cpu device.",
        });
      const started = performance.now();
      const [past] = integers(request, INPUTS.past, label);
      const rows = [...integers(request, INPUTS.rows, label)];
      invariant(past !== undefined, "past has one number");
      const data = await decoder.step(integers(request, INPUTS.tokens, label), past, rows, {
        inputs: request.inputs,
        ...(signal === undefined ? {} : { signal }),
      });
      return {
        seconds: (performance.now() - started) / 1000,
        outputs:
          request.fetch?.includes(LOGITS) === true
            ? {
                [LOGITS]: {
                  dtype: "f32",
                  shape: [rows.length, decoder.vocabulary],
                  bytes: new Uint8Array(data.slice().buffer),
                },
              }
            : {},
      };
    },
    fork: async () => packageSession(await decoder.fork(), options),
    save: (positions) => decoder.save(positions),
    restore: async (positions, state) => Promise.resolve(decoder.restore(positions, state)),
    checkpoints: {
      take: () => decoder.save(0),
      putBack: async (states) => Promise.resolve(decoder.putBack(states)),
    },
    reset: async () => Promise.resolve(decoder.reset()),
    bytes: () => ({ reserved: 0, states: 0, used: 0 }),
    dispose: () => decoder.reset(),
  };
}

/** A session over it that feeds prompts in chunks; `chunk` replaces the package's own. */
export function packageDecoderSession(
  decoder: PackageDecoder,
  options: PackageSessionOptions & { readonly chunk?: number; readonly reader?: SourceReader | undefined } = {},
): DecoderSession {
  const { capacity, vocabulary, chunk, rewind } = decoder;
  return new DecoderSession(packageSession(decoder, options), {
    capacity,
    vocabulary,
    chunk: options.chunk ?? chunk,
    rewind,
    reader: options.reader,
  });
}
