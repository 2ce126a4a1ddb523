/** Benchmarks and profiles of real runs, on every device whose times say something. */
import type { EngineHandlers } from "../../contract/contract.ts";
import type { PhaseItem } from "../../contract/views/common.ts";
import { completeProfile } from "../../contract/recordings/complete.ts";
import type { ProfileView } from "../../contract/views/run.ts";
import { profileDecoder } from "../../runtime/profile.ts";
import { leaseInPhases } from "../models/decoders.ts";
import { settledStream } from "../progressStream.ts";
import type { Jobs } from "../jobs.ts";
import type { BenchParts } from "../measure/benchRun.ts";
import { benchRun, requireRoom } from "../measure/benchRun.ts";
import type { Place } from "../measure/profileColumns.ts";
import { profileColumns } from "../measure/profileColumns.ts";
import { phaseItem } from "./runHandlers.ts";

export interface MeasureParts extends BenchParts {
  readonly jobs: Jobs;
  /** Bytes per second that this machine reads, measured once and kept. */
  readonly peakBandwidth: (threads: number, signal: AbortSignal) => Promise<number>;
}

export function measureHandlers(parts: MeasureParts): Pick<EngineHandlers["streams"], "bench.run" | "profile.run"> {
  return {
    async *"bench.run"(input, { signal }) {
      const started = performance.now();
      const { title } = parts.store.get(input.model).description;
      const phase = (name: string, sentence: string): PhaseItem => phaseItem(name, sentence, started);
      const job = parts.jobs.start("bench", title, input.model);
      try {
        yield yield* benchRun(parts, input, { job, signal, phase });
      } finally {
        job.end();
      }
    },
    async *"profile.run"(input, { signal }) {
      const device = parts.devices.able(input.device, "profile", "profile").id;
      const started = performance.now();
      const model = parts.store.get(input.model);
      const { promptTokens, generateTokens } = input;
      requireRoom(model, "profile", promptTokens + generateTokens);
      const job = parts.jobs.start("profile", model.description.title, model.id);
      try {
        yield phaseItem("prepare", "Preparing the model", started);
        const threads = input.threads ?? parts.defaultThreads;
        const context = promptTokens + generateTokens + 1;
        const lease = yield* leaseInPhases(parts.decoders, model, { device, context, threads, signal });
        try {
          const { decoder, session } = lease;
          const processBytes = (): number => parts.machine.engineBytes();
          const request = { promptTokens, generateTokens, signal, processBytes };
          let work: (onProgress: (fraction: number) => void) => Promise<ProfileView>;
          if (decoder.profile === undefined) {
            yield phaseItem("peak", "Measuring how fast this machine reads memory", started);
            const { lane, profileNote } = lease.device.facts(threads);
            const place: Place = {
              model: model.description.title,
              machine: parts.machine.chip,
              device: lease.device.id,
              peakBandwidth: await parts.peakBandwidth(threads, signal),
              ...{ threads, lane, note: profileNote },
            };
            work = async (onProgress) => {
              const report = await profileDecoder(decoder.steps, session, { ...request, onProgress });
              return completeProfile(profileColumns(report, place));
            };
          } else {
            const { profile } = decoder;
            work = (onProgress) => profile(session, { ...request, onProgress });
          }
          const profile = yield* settledStream<PhaseItem, ProfileView>((emit) =>
            work((fraction) => emit(phaseItem("record", "Recording", started, fraction))),
          );
          yield { kind: "done", profile };
        } finally {
          await lease.release();
        }
      } finally {
        job.end();
      }
    },
  };
}
