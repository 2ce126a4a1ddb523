/** Long work in hand: what runs, how far it is, since when. The status event is made from this list. */
import type { Job } from "../contract/views/engine.ts";

export interface JobHandle {
  update(phase: string, fraction: number | null): void;
  end(): void;
}

export interface Jobs {
  /** `model`: the open model that it is about; null for the engine's own work. */
  start(kind: Job["kind"], title: string, model?: string | null): JobHandle;
  list(): readonly Job[];
}

export function createJobs(changed: () => void): Jobs {
  const running = new Map<
    string,
    {
      readonly kind: Job["kind"];
      readonly title: string;
      readonly model: string | null;
      phase: string;
      fraction: number | null;
      readonly since: number;
    }
  >();
  let next = 1;
  return {
    start(kind, title, model = null) {
      const id = `job-${next++}`;
      const entry = {
        kind,
        title,
        model,
        phase: "starting",
        fraction: null as number | null,
        since: performance.now(),
      };
      running.set(id, entry);
      changed();
      return {
        update(phase, fraction) {
          const moved = entry.phase !== phase;
          entry.phase = phase;
          entry.fraction = fraction;
          if (moved) changed();
        },
        end() {
          if (running.delete(id)) changed();
        },
      };
    },
    list: () =>
      [...running].map(([id, entry]) => ({
        id,
        kind: entry.kind,
        title: entry.title,
        model: entry.model,
        phase: entry.phase,
        fraction: entry.fraction,
        elapsedSeconds: (performance.now() - entry.since) / 1000,
      })),
  };
}
