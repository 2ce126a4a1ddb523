/**
 * The engine as a process of its own: Electron forks it as a utility process and hands it MessagePorts, `rlx serve` forks it as a
 * plain child and relays each socket's messages over the fork's channel.
 */
import { dataFolder, nodeEngine } from "./nodeEngine.ts";
import { removeLeftovers } from "./files/leftovers.ts";
import { serveChildChannel } from "./serve/childChannel.ts";
import { endWithSupervisor } from "./serve/ending.ts";
import { serveParentPort } from "./serve/parentPort.ts";
import { readSettings } from "./settings.ts";

/** Questions of a window that opens, or a model that it opens at once, come first. */
const WARM_UP_AFTER_MS = 150;

const settings = readSettings(process.env);
const engine = nodeEngine({ settings });
/** Nothing that anybody asked for: a failure is told, and the engine goes on. */
const warmUp = (): void =>
  void engine.warmUp().catch((error: unknown) => process.stderr.write(`[engine] warm-up: ${String(error)}\n`));
if (serveParentPort(engine, process) || serveChildChannel(engine)) {
  endWithSupervisor(engine);
  void removeLeftovers(dataFolder(settings));
  setTimeout(warmUp, WARM_UP_AFTER_MS);
} else {
  process.stderr.write("The engine is started by the app or by `rlx serve`; on its own it has nobody to talk to.\n");
  process.exitCode = 2;
}
