/**
 * The engine as a process of its own: Electron forks it as a utility process and hands it MessagePorts, `rlx serve` forks it as a
 * plain child and relays each socket's messages over the fork's channel.
 */
import { nodeEngine } from "./nodeEngine.ts";
import { removeAbandonedFiles } from "./files/abandonedFiles.ts";
import { serveChildChannel } from "./serve/childChannel.ts";
import { endWithSupervisor } from "./serve/ending.ts";
import { serveParentPort } from "./serve/parentPort.ts";
import { readSettings } from "./settings.ts";

/** Requests of the first window come before the warm-up. */
const WARM_UP_AFTER_MS = 150;

const settings = readSettings(process.env);
const engine = nodeEngine({ settings });
/** A failure of the warm-up is logged, and the engine goes on. */
const warmUp = (): void =>
  void engine.warmUp().catch((error: unknown) => process.stderr.write(`[engine] warm-up: ${String(error)}\n`));
if (serveParentPort(engine, process) || serveChildChannel(engine)) {
  endWithSupervisor(engine);
  void removeAbandonedFiles(settings.dataFolder);
  setTimeout(warmUp, WARM_UP_AFTER_MS);
} else {
  process.stderr.write("The engine is started by the app or by `rlx serve`; on its own it has no client.\n");
  process.exitCode = 2;
}
