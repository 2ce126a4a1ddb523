/** The whole store over the recorded engine, once that has answered; with the sample model open. */
import type { RecordedOptions } from "../engine/recorded/replay.ts";
import { createRecordedEngine } from "../engine/recorded/replay.ts";
import type { LayoutClient } from "../graph/layoutClient.ts";
import { createWorkbenchStore } from "../shell/store.ts";
import { inPlace, SAMPLE } from "./sample.ts";

export async function createStoreOver(options: RecordedOptions = {}, layout: LayoutClient = inPlace) {
  const fake = createRecordedEngine(options);
  const store = createWorkbenchStore(fake.client, null, layout);
  await new Promise<void>((resolve) => {
    const stop = store.subscribe(({ info }) => {
      if (info.kind !== "ready") return;
      stop();
      resolve();
    });
  });
  return { fake, store, get: store.getState };
}

export async function openSample(options: RecordedOptions = {}) {
  const opened = await createStoreOver(options);
  await opened.get().open(SAMPLE);
  return opened;
}
