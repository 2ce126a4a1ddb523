// A decode step of a tiny model through our backend costs at most 1.2 times the same step written by hand against MLX, in the same
// run. What is judged is generation, whose next step is under way while a token is looked at: that holds on a busy machine too.
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { repositoryRoot } from "../testing/oracleProcess.ts";
import { findMlxEngine } from "./mlxAddon.ts";
import { reasonNotFound } from "../testing/skipping.ts";

interface Report {
  readonly byHandMs: number;
  readonly generationRatio: number;
}

const measured = (): Record<"compiled" | "lazy", Report> =>
  JSON.parse(
    execFileSync(process.execPath, ["--import", "tsx", "bench/mlxOverhead.ts", "--rounds", "9", "--steps", "40"], {
      cwd: repositoryRoot,
      encoding: "utf8",
    }),
  ) as Record<"compiled" | "lazy", Report>;

const missing = reasonNotFound(findMlxEngine());

describe.skipIf(missing !== undefined)(`MLX overhead ${missing ?? ""}`, () => {
  test("a step costs at most 1.2 times the one by hand, compiled and lazy", { timeout: 300_000, retry: 2 }, () => {
    const { compiled, lazy } = measured();
    // What was compared is a step: never free.
    expect(compiled.byHandMs).toBeGreaterThan(0.05);
    expect(compiled.generationRatio).toBeLessThanOrEqual(1.2);
    expect(lazy.generationRatio).toBeLessThanOrEqual(1.2);
  });
});
