// Sessions of the simulator keep their state as those of the engines do: saved, restored elsewhere, and going on with the same tokens.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindingsOf, exportPackage } from "../backends/coreml/export.ts";
import { openPackage } from "../backends/coreml/package.ts";
import { PackageDecoder } from "../backends/coreml/package/packageDecoder.ts";
import { Simulator } from "../backends/coreml/simulator/simulator.ts";
import type { WeightProfile } from "../backends/coreml/weights/forms.ts";
import type { GgufFile } from "../formats/gguf/file.ts";
import { openGguf } from "../formats/gguf/open.ts";
import { INPUTS, LOGITS } from "../models/blocks.ts";
import { openFileSource } from "../node/files/fileByteSource.ts";
import { packageReader, packageWriter } from "../node/files/packageDirectory.ts";
import { decoderExport, weightsOf } from "../testing/decoderExport.ts";
import { writeTinyGguf } from "../testing/tinyGguf.ts";
import type { DecoderSession } from "./decoderSession.ts";
import { packageDecoderSession } from "./packageSession.ts";

const CONTEXT = 64;
const PROMPT = [5, 77, 31, 200, 14, 9, 150];
const MORE = [60, 61, 62];
const STEPS = 8;

const folder = mkdtempSync(join(tmpdir(), "rlx-sim-session-"));
let file: GgufFile;
beforeAll(async () => {
  const path = join(folder, "tiny.gguf");
  await writeTinyGguf(path);
  file = await openGguf(await openFileSource(path));
});
afterAll(async () => {
  await file.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Opened {
  /** Sessions of one package, each with caches of its own. */
  readonly open: () => DecoderSession;
  readonly bindingKinds: ReadonlySet<string>;
  readonly close: () => Promise<void>;
}

async function opened(profile: WeightProfile): Promise<Opened> {
  const directory = join(folder, `${profile}.mlpackage`);
  await exportPackage(decoderExport(file, { profile, context: CONTEXT, cacheType: "f32" }), {
    directory: await packageWriter(directory),
    weights: weightsOf(file),
  });
  const reader = packageReader(directory);
  const read = await openPackage(reader);
  const bindings = bindingsOf(read.userDefined);
  const names = { tokens: INPUTS.tokens, past: INPUTS.past, rows: INPUTS.rows, logits: LOGITS };
  return {
    open: () => packageDecoderSession(new PackageDecoder(new Simulator(read), bindings, names)),
    bindingKinds: new Set(Object.values(bindings).flatMap((list) => list.map(({ kind }) => kind))),
    close: () => reader.close(),
  };
}

const best = (row: Float32Array): number => row.reduce((at, x, i) => (x > (row[at] ?? -Infinity) ? i : at), 0);

/** The tokens that a session writes behind MORE, and the logits that it drew each from. */
async function written(session: DecoderSession): Promise<{ tokens: readonly number[]; rows: readonly Float32Array[] }> {
  const rows = [await session.logits(MORE, [MORE.length - 1])];
  const tokens: number[] = [];
  for (let i = 0; i < STEPS; i++) {
    tokens.push(best(rows[i] ?? new Float32Array(0)));
    rows.push(await session.logits([tokens[i] ?? 0], [0]));
  }
  return { tokens, rows };
}

describe.each([
  ["exact", "stateIn"],
  ["gpu", "state"],
  ["ane", "stateIn"],
] as const)("%s: caches as %s", (profile, kind) => {
  let made: Opened;
  beforeAll(async () => {
    made = await opened(profile);
    expect(made.bindingKinds).toContain(kind);
  });
  afterAll(() => made.close());

  it("a restored session holds the saved tokens and writes the same ones after them", async () => {
    const session = made.open();
    await session.feed([...PROMPT, 40, 41]);
    // Behind what is kept the caches hold what was forgotten.
    session.truncate(PROMPT.length);
    const saved = await session.save();
    const want = await written(session);
    expect(new Set(want.tokens).size).toBeGreaterThan(1);

    const other = made.open();
    await other.feed([99, 98, 97, 96, 95, 94, 93, 92, 91, 90]);
    // Bytes of a file or a message stand anywhere.
    const shifted = new Uint8Array(saved.byteLength + 1);
    shifted.set(saved, 1);
    await other.restore(shifted.subarray(1));
    expect(other.tokens).toEqual(PROMPT);
    expect(await other.save()).toEqual(saved);
    expect(await written(other)).toEqual(want);

    // What was saved is the caller's: restoring twice gives the same twice.
    await other.restore(saved);
    expect(await written(other)).toEqual(want);
    // Without what the caches hold, the tokens are others.
    const empty = made.open();
    expect((await written(empty)).rows[0]).not.toEqual(want.rows[0]);
  });

  it("refuses a state of another size, and goes on with its own", async () => {
    const session = made.open();
    await session.feed(PROMPT);
    const saved = await session.save();
    for (const wrong of [saved.subarray(0, -4), new Uint8Array(saved.byteLength + 4), saved.subarray(0, 3)])
      await expect(session.restore(wrong)).rejects.toMatchObject({ code: "INPUT_ARGUMENT" });
    expect(await session.save()).toEqual(saved);
    const fresh = await made.open().save();
    await session.restore(fresh);
    expect(session.past).toBe(0);
    expect(await written(session)).toEqual(await written(made.open()));
  });
});
