// The compile cache through the built command line: what a run leaves, what the doctor says of it, and how it goes.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { rlx } from "../../testing/rlx.ts";
import { requireCommandLine } from "../../testing/rlxProcess.ts";

let home: string;
beforeAll(async () => {
  requireCommandLine();
  home = await mkdtemp(join(tmpdir(), "rlx-cache-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

const written = z.object({ text: z.string() });
const cleared = z.object({ removed: z.number(), bytes: z.number(), left: z.number(), folder: z.string() });
const doctor = z.object({
  checks: z.array(z.object({ id: z.string(), sentence: z.string(), details: z.array(z.string()).optional() })),
});

async function answer<T>(schema: z.ZodType<T>, ...parameters: readonly string[]): Promise<T> {
  const { code, out, err } = await rlx([...parameters, "--json"], { home });
  expect(code, err).toBe(0);
  return schema.parse(JSON.parse(out));
}
const run = async (...more: readonly string[]): Promise<string> =>
  (await answer(written, "run", "--sample", "-p", "Once", "-n", "8", "--temperature", "0", ...more)).text;
const place = (): string => join(home, "cache");
const plans = (): readonly string[] => (existsSync(place()) ? readdirSync(place()) : []);

it("keeps one plan per model, reads it again, mends it, counts it, and clears it", async () => {
  const first = await run();
  expect(first.length).toBeGreaterThan(3);
  const [name = ""] = plans();
  expect(plans()).toHaveLength(1);
  expect(await run()).toBe(first);
  expect(plans()).toEqual([name]);
  writeFileSync(join(place(), name), "damaged");
  expect(await run()).toBe(first);
  const { checks } = await answer(doctor, "doctor");
  expect(checks.find(({ id }) => id === "cache")?.sentence).toContain("1 entry, ");
  expect(checks.find(({ id }) => id === "cache")?.sentence).toContain(place());
  expect(checks.find(({ id }) => id === "addon")?.details?.join("\n")).toMatch(/^matmul .*: /m);
  const { removed, bytes, left, folder } = await answer(cleared, "doctor", "--clear-cache");
  expect({ removed, left, folder }).toEqual({ removed: 1, left: 0, folder: place() });
  expect(bytes).toBeGreaterThan(1000);
  expect(plans()).toEqual([]);
});
