/** What a package's writer asks of its directory, and in which order. */
import { expect, it } from "vitest";
import { throwIfCancelled } from "../../diagnostics/errors.ts";
import { BlobPlan } from "./blob.ts";
import type { DirectoryWriter, PackageContents } from "./package.ts";
import { MAX_MODEL_BYTES, requireModelFits, writePackage } from "./package.ts";

const CONTENTS: PackageContents = {
  program: { functions: [], buildInfo: {} },
  opset: "CoreML8",
  defaultFunction: "main",
  metadata: { shortDescription: "", author: "", license: "", version: "1", userDefined: {} },
};

/** Keeps nothing but what was asked. */
function directory(asked: string[]): DirectoryWriter {
  const note = (what: string) => (): Promise<void> => {
    asked.push(what);
    return Promise.resolve();
  };
  return {
    file: (path) => {
      const name = path.split("/").at(-1);
      asked.push(`open ${name}`);
      return Promise.resolve({ write: () => Promise.resolve(), close: note(`close ${name}`) });
    },
    commit: note("commit"),
    abandon: note("abandon"),
  };
}

it("closes each file, which waits for the disk, before it commits", async () => {
  const asked: string[] = [];
  await writePackage(
    directory(asked),
    new BlobPlan(),
    () => Promise.resolve(),
    () => CONTENTS,
  );
  const files = ["weight.bin", "model.mlmodel", "Manifest.json"];
  expect(asked).toEqual([...files.flatMap((name) => [`open ${name}`, `close ${name}`]), "commit"]);
});

it.each(["during", "after"])("cancelled %s its weights, waits for no disk", async (when) => {
  const asked: string[] = [];
  const cancel = new AbortController();
  const weights = (): Promise<void> => {
    cancel.abort();
    if (when === "during") throwIfCancelled(cancel.signal);
    return Promise.resolve();
  };
  const writing = writePackage(directory(asked), new BlobPlan(), weights, () => CONTENTS, { signal: cancel.signal });
  await expect(writing).rejects.toMatchObject({ code: "CANCELLED" });
  expect(asked).toEqual(["open weight.bin", "abandon"]);
});

it("refuses a program that one message cannot hold, and says by how much", () => {
  expect(() => requireModelFits(MAX_MODEL_BYTES)).not.toThrow();
  expect(() => requireModelFits(3 * 2 ** 30)).toThrow(
    expect.objectContaining({
      code: "UNSUPPORTED_TARGET",
      details: { bytes: 3 * 2 ** 30, limit: 2 ** 31 - 1 },
    }) as Error,
  );
});
