// The choices of a mixture whose routers are unit vectors, against what they have to be.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openGguf } from "../formats/gguf/open.ts";
import { headerOnlyModel, LLAMA_1B } from "../models/headerOnly.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { loadAddon } from "../node/native/addon.ts";
import { writeTinyMixture } from "../testing/tinyMixture.ts";
import { openDecoder } from "./devices/cpu.ts";
import { expertUse, requireExperts } from "./expertUse.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-experts-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("which experts take the tokens of a text", () => {
  it("is counted over all parts of it, for each layer", async () => {
    const path = join(folder, "mixture.gguf");
    await writeTinyMixture(path);
    const file = await openGguf(await openFileSource(path));
    const decoder = openDecoder(loadAddon(), file, [path], { threads: 1, chunk: 2, countsExperts: true });
    const session = decoder.open();
    const use = await expertUse(session, requireExperts(file), [0, 1, 1, 3, 1]);
    expect(use).toEqual({
      tokens: 5,
      layers: [
        { layer: 0, counts: Uint32Array.of(1, 3, 0, 1) },
        { layer: 1, counts: Uint32Array.of(1, 0, 3, 1) },
      ],
    });
    session.dispose();
    decoder.dispose();
    await file.close();
  });

  it("is no question for a model without experts", async () => {
    const file = await headerOnlyModel(LLAMA_1B);
    expect(() => requireExperts(file)).toThrow("a model without experts");
  });
});
