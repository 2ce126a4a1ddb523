/** Ends an engine process on request, or when its supervisor is gone, after it has tidied up. */
import { setTimeout as wait } from "node:timers/promises";

/** Time limit of the tidy-up: the supervisor kills the process soon after. */
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
      // Ends by the signal itself, as the sender expects.
      process.removeListener("SIGTERM", asked);
      process.kill(process.pid, "SIGTERM");
    });
  process.on("SIGTERM", asked);
  // The supervisor is gone.
  process.on("disconnect", () => void end(() => process.exit(0)));
  // The terminal sends these to the supervisor too, which then ends this process.
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
}
