/**
 * A decoder in a Core ML package as a session: a package runner runs its functions, drawing and scoring happen here. Generation,
 * scoring and cancel work over it as over the CPU engine.
 */
import type { RunResult, GraphRun, GraphSession } from "../ir/session.ts";
import { bindingsOf } from "../backends/coreml/export.ts";
import { PackageDecoder } from "../backends/coreml/package/packageDecoder.ts";
import type { PackageRunner } from "../backends/coreml/package/packageRunner.ts";
import { invariant, WorkbenchError } from "../diagnostics/errors.ts";
import { INPUTS, LOGITS } from "../models/blocks.ts";
import { DecoderSession } from "./decoderSession.ts";

function integers(request: GraphRun, name: string, label: string): Int32Array {
  const data = request.inputs[name];
  if (data instanceof Int32Array) return data;
  throw new WorkbenchError("INPUT_ARGUMENT", `[${label}] input ${name}: expected i32 numbers`);
}

/** The decoder of a package that was exported from a template; `userDefined` is what the package says of itself. */
export const decoderIn = (runner: PackageRunner, userDefined: Readonly<Record<string, string>>): PackageDecoder =>
  new PackageDecoder(runner, bindingsOf(userDefined), {
    tokens: INPUTS.tokens,
    past: INPUTS.past,
    rows: INPUTS.rows,
    logits: LOGITS,
  });

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
      const data = await decoder.step(
        integers(request, INPUTS.tokens, label),
        past,
        rows,
        signal === undefined ? {} : { signal },
      );
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
  options: PackageSessionOptions & { readonly chunk?: number } = {},
): DecoderSession {
  const { capacity, vocabulary, chunk, rewind } = decoder;
  return new DecoderSession(packageSession(decoder, options), {
    capacity,
    vocabulary,
    chunk: options.chunk ?? chunk,
    rewind,
  });
}
