/** How an engine ends that serves somebody else: when it is asked to, or when there is nobody left, and never before it has tidied up. */
import { setTimeout as wait } from "node:timers/promises";

/** For all of it: whoever asked does not wait much longer. */
const TIDY_MS = 2500;

export interface Disposable {
  dispose(): Promise<void>;
}

export function endWithSupervisor(engine: Disposable): void {
  let ending = false;
  const end = async (finish: () => void): Promise<void> => {
    if (ending) return;
    ending = true;
    try {
      await Promise.race([engine.dispose(), wait(TIDY_MS)]);
    } catch (error) {
      process.stderr.write(`[engine] tidying up: ${String(error)}\n`);
    }
    finish();
  };
  const asked = (): void =>
    void end(() => {
      // As whoever sent it expects: ended by this signal.
      process.removeListener("SIGTERM", asked);
      process.kill(process.pid, "SIGTERM");
    });
  process.on("SIGTERM", asked);
  // The supervisor is gone: nobody is left to work for.
  process.on("disconnect", () => void end(() => process.exit(0)));
  // A terminal sends these to the supervisor as well, and it is the supervisor who ends us.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
}
