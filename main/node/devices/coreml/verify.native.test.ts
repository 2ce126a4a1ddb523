// The experiments of `rlx doctor --verify`: each is a package that coremltools-shaped rules accept and that answers with the
// simulator's numbers over the double, a wrong answer is told from a right one, and a death is an answer too.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { doubleModule, noDouble } from "../../../testing/coremlDouble.ts";
import { coremlAccess } from "./device.ts";
import type { Answer } from "./verify.ts";
import { relativeError, verify } from "./verify.ts";

describe("relativeError", () => {
  it("tells equal, near, far and missing", () => {
    expect(relativeError([1, 2], [1, 2])).toBe(0);
    expect(relativeError([1.1, 2], [1, 2])).toBeCloseTo(0.1 / Math.sqrt(5), 12);
    expect(relativeError([1], [1, 2])).toBe(Infinity);
    expect(relativeError([NaN, 2], [1, 2])).toBe(Infinity);
  });
});

describe.skipIf(noDouble)(`doctor --verify ${noDouble ?? ""}`, () => {
  const home = mkdtempSync(join(tmpdir(), "rlx-verify-test-"));
  const access = coremlAccess(home, doubleModule());
  const signal = new AbortController().signal;
  afterAll(() => {
    delete process.env["RLX_COREML_DOUBLE"];
    rmSync(home, { recursive: true, force: true });
  });
  const byId = (answers: readonly Answer[], id: string): Answer | undefined =>
    answers.find((answer) => answer.id === id);

  it("answers every question on every choice of units", { timeout: 120_000 }, async () => {
    const told: string[] = [];
    const { answers, truth } = await verify(access, { signal, onAnswer: ({ id }) => told.push(id) });
    expect(truth).toBe("simulated");
    expect(told).toEqual(answers.map(({ id }) => id));
    for (const id of ["float-offset", "negative-scale", "table-then-scale", "scale-of-scales", "shared-weights"])
      expect(byId(answers, id), id).toMatchObject({ answer: "yes" });
    expect(byId(answers, "shared-weights")?.findings).toHaveLength(8);
    // The double places by a rule of thumb and knows no pins: only where nothing but the CPU is allowed is the answer yes.
    expect(byId(answers, "pin")?.findings.map(({ units, held }) => [units, held])).toEqual([
      ["cpu", true],
      ["cpu-gpu", false],
      ["cpu-ane", false],
      ["all", false],
    ]);
    // The simulator, which computes for the double, wants every argument written.
    expect(byId(answers, "left-out")?.answer).toBe("no");
    expect(byId(answers, "left-out")?.findings[0]?.sentence).toContain("COREML_PREDICT");
  });

  it("takes a death for an answer", { timeout: 120_000 }, async () => {
    process.env["RLX_COREML_DOUBLE"] = "load=kill";
    const { answers } = await verify(access, { signal });
    for (const { answer, findings } of answers) {
      expect(answer).toBe("no");
      for (const finding of findings) expect(finding.sentence).toContain("killed by signal 9 during the load");
    }
  });
});
