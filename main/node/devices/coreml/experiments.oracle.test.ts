// The packages that `rlx doctor --verify` asks its questions with, as coremltools sees them: well-formed,
// with types and shapes that its own inference confirms. What is open is Apple's runtime, not the file.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { oracleMissing, validatePackage } from "../../../testing/oracle.ts";
import { EXPERIMENTS } from "./experiments.ts";

const missing = oracleMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-experiments-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(missing)(`experiments ${missing ?? ""}`, () => {
  it.each(EXPERIMENTS.map((one) => [one.id, one] as const))("%s is a valid package", async (id, experiment) => {
    const path = join(folder, `${id}.mlpackage`);
    await experiment.write(path);
    const { errors, warnings, rows } = await validatePackage(path);
    // What one of them leaves out is its question, and the only thing there is to say.
    const open = id === "left-out" ? ["main/y=softmax optional argument 'axis' omitted"] : [];
    const said = rows.map((row) => row.join(" ")).join("; ");
    expect(errors, said).toBe(0);
    expect(warnings).toBe(open.length);
    for (const text of open) expect(said).toContain(text);
  });
});
