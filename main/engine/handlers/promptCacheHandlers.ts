/** Saves the session that answered last as a prompt cache, and fills a session from one. */
import type { EngineHandlers, Output } from "../../contract/contract.ts";
import type { View } from "../../contract/define.ts";
import type { promptCacheInput } from "../../contract/views/promptCache.ts";
import { VERSION } from "../../contract/version.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { PromptCacheFacts, PromptCacheFiles } from "../../runtime/promptCache.ts";
import { loadPromptCache, savePromptCache } from "../../runtime/promptCache.ts";
import type { EngineDevices } from "../devices.ts";
import type { Jobs } from "../jobs.ts";
import { figure } from "../measure/forecast.ts";
import type { Decoders, Lease } from "../models/decoders.ts";
import type { ModelStore } from "../models/modelStore.ts";
import { counted } from "../words.ts";

interface Parts {
  readonly store: ModelStore;
  readonly decoders: Decoders;
  readonly devices: EngineDevices;
  readonly jobs: Jobs;
  readonly files: PromptCacheFiles;
}

type Which = Omit<View<typeof promptCacheInput>, "path">;
type Calls = Pick<EngineHandlers["calls"], "prompt.save" | "prompt.load">;
type Work = (of: Parameters<typeof savePromptCache>[2]) => Promise<PromptCacheFacts>;

export function promptCacheHandlers({ store, decoders, devices, jobs, files }: Parts): Calls {
  const through = async (
    { model: id, ...choice }: Which,
    signal: AbortSignal,
    what: "saved" | "loaded",
    work: Work,
  ): Promise<Output<"prompt.load">> => {
    const model = store.get(id);
    const file = model.requireFile("prompt cache");
    requireKept(devices, choice.device);
    const job = jobs.start("run", model.description.title, model.id);
    try {
      job.update(what === "saved" ? "saving the prompt cache" : "loading the prompt cache", null);
      const lease = await decoders.lease(model, { ...choice, standIn: true, signal });
      try {
        const begun = performance.now();
        const facts = await work({ file, session: lease.session, place: placeOf(lease) });
        const seconds = (performance.now() - begun) / 1000;
        return {
          ...facts,
          seconds: figure(seconds, "seconds", "measured", `${what} here`),
          sentence: `${counted(facts.tokens, "token")} ${what} in ${seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`}.`,
        };
      } finally {
        await lease.release();
      }
    } finally {
      job.end();
    }
  };
  return {
    "prompt.save": ({ path, overwrite, ...which }, { signal }) =>
      through(which, signal, "saved", (of) => savePromptCache(files, path, of, { overwrite, signal })),
    "prompt.load": ({ path, ...which }, { signal }) =>
      through(which, signal, "loaded", (of) => loadPromptCache(files, path, of, signal)),
  };
}

const placeOf = ({ device, decoder }: Lease): Parameters<typeof savePromptCache>[2]["place"] => ({
  engine: VERSION,
  device: device.id,
  cacheType: decoder.cacheType,
});

/** A device that makes a decoder for each answer has no session that stays behind. */
function requireKept(devices: EngineDevices, device: string): void {
  const running = devices.running(devices.able(device, "tokens", "prompt cache"));
  if (running.kept !== undefined) return;
  const able = devices.listed.filter((each) => each.kept !== undefined).map(({ id }) => id);
  throw new WorkbenchError(
    "UNSUPPORTED_TARGET",
    `[prompt cache] device: got ${running.id}, whose sessions end with their answer, expected one that keeps them`,
    { hint: `Run on ${able.join(" or ")}.` },
  );
}
