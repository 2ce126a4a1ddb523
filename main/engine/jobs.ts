/** Long work in hand: what runs, how far it is, since when. The status event is made from this list. */
import type { Job } from "../contract/views/engine.ts";

export interface JobHandle {
  update(phase: string, fraction: number | null): void;
  end(): void;
}

export interface Jobs {
  start(kind: Job["kind"], title: string): JobHandle;
  list(): readonly Job[];
}

export function createJobs(changed: () => void): Jobs {
  const running = new Map<
    string,
    { kind: Job["kind"]; title: string; phase: string; fraction: number | null; since: number }
  >();
  let next = 1;
  return {
    start(kind, title) {
      const id = `job-${next++}`;
      const entry = { kind, title, phase: "starting", fraction: null as number | null, since: performance.now() };
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
        phase: entry.phase,
        fraction: entry.fraction,
        elapsedSeconds: (performance.now() - entry.since) / 1000,
      })),
  };
}
