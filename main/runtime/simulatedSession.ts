/**
 * A decoder in a Core ML package as a session: the simulator runs its functions, and tokens are drawn from its logits. What it gives is
 * simulated, and slow; generation, scoring and cancel work over it as over the CPU engine.
 */
import type { RunResult, GraphRun, GraphSession } from "../ir/session.ts";
import type { SimulatedDecoder } from "../backends/coreml/simulator/decoder.ts";
import { invariant, WorkbenchError } from "../diagnostics/errors.ts";
import { INPUTS, LOGITS } from "../models/blocks.ts";

function integers(request: GraphRun, name: string): Int32Array {
  const data = request.inputs[name];
  if (data instanceof Int32Array) return data;
  throw new WorkbenchError("INPUT_ARGUMENT", `[coreml-sim] input ${name}: expected i32 numbers`);
}

export interface SimulatedOptions {
  /** Whoever runs the package clocks its runs himself: a run that is asked for a profile goes on, without columns. */
  readonly clocked?: boolean;
}

export function simulatedSession(decoder: SimulatedDecoder, options: SimulatedOptions = {}): GraphSession {
  const unsupported = (what: string): WorkbenchError =>
    new WorkbenchError("UNSUPPORTED_TARGET", `[coreml-sim] ${what} is not offered by the simulator`, {
      hint: "Use the cpu device.",
    });
  return {
    threads: 1,
    async run(request: GraphRun, signal?: AbortSignal): Promise<RunResult> {
      if (request.profile === true && options.clocked !== true) throw unsupported("a profile");
      const started = performance.now();
      const [past] = integers(request, INPUTS.past);
      const rows = [...integers(request, INPUTS.rows)];
      invariant(past !== undefined, "past has one number");
      const data = await decoder.step(
        integers(request, INPUTS.tokens),
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
    fork: async () => simulatedSession(await decoder.fork(), options),
    save: (positions) => decoder.save(positions),
    restore: async (positions, state) => Promise.resolve(decoder.restore(positions, state)),
    reset: async () => Promise.resolve(decoder.reset()),
    bytes: () => ({ reserved: 0, states: 0, used: 0 }),
    dispose: () => decoder.reset(),
  };
}
