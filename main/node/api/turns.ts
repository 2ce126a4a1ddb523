/**
 * Turns of the requests that want the same model: in the order in which they came, so many at once. How many wait is bounded
 * over all models; the one that is too many is told when to come again.
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { ApiError } from "./apiErrors.ts";

export interface Turns {
  /**
   * Resolves when it is this one's turn, with what ends the turn. The signal leaves the line. `isAdmitted`: a further answer of
   * a request that has had a turn, which no limit refuses.
   */
  take(model: string, signal: AbortSignal, isAdmitted?: boolean): Promise<() => void>;
  readonly counts: () => { readonly answering: number; readonly waiting: number };
}

interface Line {
  running: number;
  readonly waiting: (() => void)[];
}

/** Seconds of the last answers that say when a place may be free. */
const REMEMBERED = 8;
const LONGEST_RETRY_SECONDS = 60;

export function createTurns(atOnce: number, mostWaiting: number): Turns {
  const lines = new Map<string, Line>();
  const recent: number[] = [];
  const sum = (of: (line: Line) => number): number => [...lines.values()].reduce((all, line) => all + of(line), 0);
  const waiting = (): number => sum((line) => line.waiting.length);

  const retrySeconds = (): number => {
    const mean = recent.reduce((all, each) => all + each, 0) / Math.max(1, recent.length);
    return Math.min(LONGEST_RETRY_SECONDS, Math.max(1, Math.ceil((mean * (waiting() + 1)) / atOnce)));
  };

  return {
    counts: () => ({ answering: sum(({ running }) => running), waiting: waiting() }),
    async take(model, signal, isAdmitted = false) {
      const line: Line = lines.get(model) ?? { running: 0, waiting: [] };
      lines.set(model, line);
      if (line.running >= atOnce) {
        if (!isAdmitted && waiting() >= mostWaiting)
          throw new ApiError(429, `${waiting()} requests wait already, and that is the most.`, {
            code: "too_many_requests",
            headers: { "retry-after": String(retrySeconds()) },
          });
        await inLine(line, signal);
      } else line.running += 1;
      const since = performance.now();
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        recent.push((performance.now() - since) / 1000);
        if (recent.length > REMEMBERED) recent.shift();
        // The next one takes over the place.
        const next = line.waiting.shift();
        if (next === undefined) line.running -= 1;
        else next();
        if (line.running === 0 && lines.get(model) === line) lines.delete(model);
      };
    },
  };
}

function inLine({ waiting }: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      waiting.splice(waiting.indexOf(go), 1);
      reject(new WorkbenchError("CANCELLED", "[server] the client left the line"));
    };
    if (signal.aborted) {
      reject(new WorkbenchError("CANCELLED", "[server] the client left the line"));
      return;
    }
    signal.addEventListener("abort", leave, { once: true });
    waiting.push(go);
  });
}
