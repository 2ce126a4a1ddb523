/**
 * Models on the simulator: the package is exported to a temporary folder, read back from disk, and run. A demo graph runs part by
 * part: Core ML parts simulated, host parts on the CPU engine.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bindingsOf } from "../../backends/coreml/export.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { openPackage } from "../../backends/coreml/package.ts";
import { PackageDecoder } from "../../backends/coreml/package/packageDecoder.ts";
import { Simulator } from "../../backends/coreml/simulator/simulator.ts";
import type { CpuEngine } from "../../backends/cpu/engine.ts";
import { INPUTS, LOGITS } from "../../models/blocks.ts";
import { DecoderSession } from "../../runtime/decoderSession.ts";
import { packageSession } from "../../runtime/packageSession.ts";
import { packageReader } from "../../node/files/packageDirectory.ts";
import { exportModel } from "./exporting.ts";
import type { OpenModel } from "./openModel.ts";

export interface SimulatedModel {
  readonly session: DecoderSession;
  dispose(): Promise<void>;
}

/** Tokens of one run: the simulator has no reason for more. */
const CHUNK = 64;

export async function openSimulated(
  model: OpenModel,
  target: PlanTarget,
  engine: CpuEngine,
  signal: AbortSignal,
): Promise<SimulatedModel> {
  const folder = await mkdtemp(join(tmpdir(), "rlx-sim-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, "model.mlpackage");
    await exportModel(model, target, { path, engine, signal });
    const reader = packageReader(path);
    try {
      const session = await sessionOf(reader);
      return {
        session,
        dispose: async () => {
          await reader.close();
          await remove();
        },
      };
    } catch (error) {
      await reader.close();
      throw error;
    }
  } catch (error) {
    await remove();
    throw error;
  }
}

async function sessionOf(reader: ReturnType<typeof packageReader>): Promise<DecoderSession> {
  const opened = await openPackage(reader);
  const decoder = new PackageDecoder(new Simulator(opened), bindingsOf(opened.userDefined), {
    tokens: INPUTS.tokens,
    past: INPUTS.past,
    rows: INPUTS.rows,
    logits: LOGITS,
  });
  return new DecoderSession(packageSession(decoder), {
    capacity: decoder.capacity,
    vocabulary: decoder.vocabulary,
    chunk: CHUNK,
  });
}
