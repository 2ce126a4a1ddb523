// What a token reads of a mixture, by hand arithmetic.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openGguf } from "../../formats/gguf/open.ts";
import { requireArchitecture } from "../../models/architecture.ts";
import { openFileSource } from "../../node/files/fileByteSource.ts";
import { writeTinyMixture } from "../../testing/tinyMixture.ts";
import { modelShape } from "./shape.ts";

it("of four experts a token reads the one that is picked", async () => {
  const folder = await mkdtemp(join(tmpdir(), "rlx-shape-"));
  const path = join(folder, "mixture.gguf");
  await writeTinyMixture(path);
  const file = await openGguf(await openFileSource(path));
  // Two layers of two norms, four matrices of attention, the router, and three matrices of 4 × 4 for each expert; the embedding
  // is the output, too, and a norm stands before it.
  const block = 2 * 4 + 4 * 16 + 16;
  const outside = 16 + 4;
  expect(modelShape(file, requireArchitecture(file))).toMatchObject({
    weightBytes: 4 * (outside + 2 * (block + 4 * 3 * 16)),
    bytesPerToken: 4 * (outside + 2 * (block + 3 * 16)),
    activeParameters: outside + 2 * (block + 3 * 16),
    experts: { used: 1, count: 4 },
  });
  await file.close();
  await rm(folder, { recursive: true });
});
