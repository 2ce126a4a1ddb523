// Flexible numbers of tokens over the double: several functions, or one whose input has a range of sizes; both give the CPU
// engine's tokens for prompts of every length, take no more calls than needed, and are what the package says they are.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import type { ShapeFlexibility } from "../../../backends/coreml/flexible.ts";
import { openPackage } from "../../../backends/coreml/package.ts";
import { resolveTarget } from "../../../backends/coreml/plan/target.ts";
import { openDecoder } from "../../../runtime/devices/cpu.ts";
import type { DecoderSession } from "../../../runtime/decoderSession.ts";
import { GREEDY } from "../../../runtime/generate.ts";
import { modelStoreIn } from "../../../testing/modelStore.ts";
import { doubleControls, doubleModule, noDouble } from "../../../testing/coremlDouble.ts";
import { loadAddon } from "../../native/addon.ts";
import { packageReader } from "../../files/packageDirectory.ts";
import { coremlAccess } from "./device.ts";
import { openCoremlSession } from "./session.ts";

const sample = fileURLToPath(new URL("../../../../assets/models/rlx-sample.gguf", import.meta.url));
const missing = noDouble ?? (existsSync(sample) ? undefined : "(the sample model is not here)");
const CONTEXT = 128;
/** One token, sizes between, a bucket exactly, more than one call takes. */
const LENGTHS = [1, 2, 5, 12, 33, 64, 90];

describe.skipIf(missing)(`flexible inputs over the double ${missing ?? ""}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "rlx-coreml-flexible-"));
  const { store, close } = modelStoreIn(folder);
  const engine = loadAddon();
  const signal = new AbortController().signal;
  afterAll(async () => {
    await close();
    rmSync(folder, { recursive: true, force: true });
  });

  const { repeatLast: _, ...greedy } = GREEDY;
  const sampling = { ...greedy, recent: new Int32Array(0), step: 0, alternatives: 0 };
  /** The token after each prompt, and the one after that. */
  async function tokensOf(session: DecoderSession, vocabulary: number): Promise<number[]> {
    const made: number[] = [];
    for (const length of LENGTHS) {
      session.truncate(0);
      const prompt = Array.from({ length }, (_unused, i) => (i * 131 + 17 * length) % vocabulary);
      const first = await session.feed(prompt, { sample: sampling });
      const second = await session.feed([first?.id ?? 0], { sample: sampling });
      made.push(first?.id ?? -1, second?.id ?? -1);
    }
    return made;
  }

  const functionsOf = async (path: string): Promise<unknown> => {
    const reader = packageReader(path);
    try {
      const opened = await openPackage(reader);
      return opened.functions.map(({ name, inputs }) => [name, inputs.find((one) => one.name === "tokens")]);
    } finally {
      await reader.close();
    }
  };

  it.each([
    ["sizes", "exact", "cpu"],
    ["sizes", "gpu", "all"],
    ["native", "exact", "cpu"],
    ["native", "gpu", "all"],
    ["native", "gpu", "cpu-gpu"],
    ["inputs", "gpu", "all"],
    ["native", "ane", "cpu-ane"],
  ] as const)("%s with %s weights", { timeout: 300_000 }, async (flexibility: ShapeFlexibility, profile, units) => {
    const model = await store.open({ kind: "path", path: sample }, signal);
    const decoder = openDecoder(engine, model.requireFile("test"), [sample], { threads: 2, cacheType: "f32" });
    const cpu = decoder.open({ context: CONTEXT });
    const access = coremlAccess(join(folder, flexibility), doubleModule(), flexibility);
    const target = resolveTarget({ chip: "m3", os: "macos15", units, profile, context: CONTEXT }, "decode");
    const opened = await openCoremlSession(access, { model, target, engine, signal });
    try {
      const calls: string[] = [];
      opened.runner.onPrediction = (times) => void calls.push(times.function);
      const { vocabulary } = decoder.architecture;
      const [wanted, made] = [await tokensOf(cpu, vocabulary), await tokensOf(opened.session, vocabulary)];
      // f16 may decide a near tie otherwise; in f32 every token is the same.
      const same = made.filter((token, i) => token === wanted[i]).length;
      expect(same, `${made.join()} for ${wanted.join()}`).toBeGreaterThanOrEqual(
        profile === "exact" ? wanted.length : wanted.length - 2,
      );
      if (flexibility !== "sizes") {
        // 64 and 90 tokens take two calls each, every other prompt one.
        expect(calls).toEqual(new Array(LENGTHS.length * 2 + 2).fill("main"));
        expect(doubleControls().configuration()).toContain("reshape=1");
        const range = { kind: "range", sizes: [[1, 61]] };
        expect(await functionsOf(opened.compiled.path)).toMatchObject([["main", { shape: [1], flexible: range }]]);
      } else {
        const prompts = [
          "decode",
          "prefill_2",
          "prefill_8",
          "prefill_16",
          "prefill",
          "prefill",
          "prefill",
          "prefill_32",
        ];
        const steps = [0, 1, 2, 3, 4, 5, 6].flatMap((i) => [...(i === 6 ? prompts.slice(6) : [prompts[i]]), "decode"]);
        expect(calls).toEqual(steps);
        expect(doubleControls().configuration()).toContain("reshape=0");
      }
    } finally {
      await opened.dispose();
      cpu.dispose();
      decoder.dispose();
    }
  });
});
