/** For tests: the store of open models over the files of this machine, with recents in a folder. */
import type { ModelStore } from "../engine/models/modelStore.ts";
import { createModelStore } from "../engine/models/modelStore.ts";
import { createOffers } from "../engine/models/offers.ts";
import type { Uploads } from "../engine/services.ts";
import { modelFiles } from "../node/files/modelFiles.ts";
import { createRecents } from "../node/files/recents.ts";
import { createUploads } from "../node/files/uploads.ts";

export interface TestStore {
  readonly store: ModelStore;
  readonly uploads: Uploads;
  readonly close: () => Promise<void>;
}

export function modelStoreIn(folder: string): TestStore {
  const uploads = createUploads();
  const store = createModelStore({
    files: modelFiles,
    offers: createOffers(modelFiles),
    recents: createRecents(folder),
    uploads,
  });
  return {
    store,
    uploads,
    close: async () => {
      await store.dispose();
      await uploads.dispose();
    },
  };
}
