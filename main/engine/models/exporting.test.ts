// A package of a graph in text: which sizes its symbols get, and what is refused.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { modelStoreIn } from "../../testing/modelStore.ts";
import { boundSentence, exportRequest } from "./exporting.ts";

const folder = mkdtempSync(join(tmpdir(), "rlx-exporting-"));
const { store, close } = modelStoreIn(folder);
const { signal } = new AbortController();
afterAll(async () => {
  await close();
  rmSync(folder, { recursive: true, force: true });
});

const TARGET: PlanTarget = {
  ...{ chip: "m2", os: "macos15", units: "all", profile: "gpu" },
  ...{ context: 64, phase: "decode" },
};
const text = (x: string): string =>
  `graph "sizes" {\n  limit T = 5\n  %x = input : ${x}\n  %y = exp(%x)\n  return "y" = %y\n}\n`;
const opened = (x: string) => store.open({ kind: "text", name: "sizes.rlx", text: text(x) }, signal);

describe("a graph in text", () => {
  it("says the sizes that its symbols get, from the context and its own limits", async () => {
    const model = await opened("f32[N,T]");
    expect(await boundSentence(model, TARGET, {}, signal)).toBe(
      " Made for N = 64, T = 5; N, T from the context, or a smaller limit in the text.",
    );
    expect(await boundSentence(model, TARGET, { N: 8, T: 2 }, signal)).toBe(" Made for N = 8, T = 2.");
    expect(await boundSentence(await opened("f32[2,3]"), TARGET, {}, signal)).toBe("");
  });

  it("is made for the sizes that are said, of symbols that it has", async () => {
    const model = await opened("f32[N,T]");
    const { variants } = await exportRequest(model, TARGET, signal, { symbols: { N: 8 } });
    expect(variants.map(({ bindings }) => bindings)).toEqual([{ N: 8, T: 5 }]);
    await expect(exportRequest(model, TARGET, signal, { symbols: { Q: 8 } })).rejects.toMatchObject({
      code: "INPUT_ARGUMENT",
      message: "[export] symbol: got Q, expected N, T",
    });
  });

  it("has no flexible sizes, and says so where they are asked for", async () => {
    for (const flexibility of ["native", "inputs"] as const) {
      await expect(exportRequest(await opened("f32[N,T]"), TARGET, signal, { flexibility })).rejects.toMatchObject({
        code: "UNSUPPORTED_TARGET",
        message: "[flexible] a graph in text is made for fixed sizes only: N = 64, T = 5",
      });
      const fixed = await exportRequest(await opened("f32[2,3]"), TARGET, signal, { flexibility });
      expect(fixed.variants).toEqual([{ name: "main", bindings: expect.anything() as unknown }]);
    }
  });
});
