// Recurrences in both their forms: few turns one after the other, many as a loop. Each package is strict-clean, and the simulator
// gives what the float64 reference gives.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { finish } from "../../ir/steps.ts";
import { exportGraph, openPackage } from "../../node/library/packages.ts";
import { packageReader } from "../../node/files/packageDirectory.ts";
import { evaluate } from "../../ops/evaluate.ts";
import { opOf } from "../../ops/index.ts";
import { inputName, sampleGraph, sampleRun, sampleTensors } from "../../ops/sampleData.ts";
import { oracleMissing, validatePackage } from "../../testing/oracle.ts";
import { openPackage as readPackage } from "./package.ts";

const missing = oracleMissing();
const folder = mkdtempSync(join(tmpdir(), "rlx-recurrences-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The op, a sample with tokens of any number, and the tokens that stay straight and that loop. */
const FORMS: readonly (readonly [op: string, sample: string, straight: number, loops: number])[] = [
  ["scan", "symbolic, backwards", 8, 9],
  ["gated_delta", "symbolic, one head", 8, 9],
  ["wkv7", "symbolic", 8, 9],
  // A decay for each element: sums that reach twice as far each time, or a turn for each token.
  ["wkv6", "symbolic", 64, 65],
  ["selective_scan", "symbolic, a decay for each element", 64, 65],
  // A decay for each head: products over 64 tokens at a time, and a turn for each 64 of them.
  ["selective_scan", "symbolic, read before", 8 * 64 + 3, 9 * 64],
  ["ssd", "symbolic", 8 * 64 + 3, 9 * 64],
];

describe.skipIf(missing)(`recurrences on Core ML ${missing ?? ""}`, () => {
  const cases = FORMS.flatMap(([op, title, straight, loops]) => [
    [op, straight, 0, title] as const,
    [op, loops, 1, title] as const,
  ]);
  it.each(cases)("%s over %i tokens has %i loops", { timeout: 60_000 }, async (name, tokens, loops, title) => {
    const op = opOf(name);
    const own = op?.samples.find((sample) => sample.title === title);
    if (op === undefined || own === undefined) throw new Error(`${name} has a sample "${title}"`);
    const [symbol] = Object.keys(own.bindings ?? {});
    const sample = { ...own, bindings: { [symbol ?? ""]: tokens } };
    const graph = sampleGraph(op, sample);
    const path = join(folder, `${name}-${tokens}.mlpackage`);
    await exportGraph(graph, path, { profile: "exact", symbols: sample.bindings });
    const findings = await validatePackage(path);
    expect(findings.rows.filter(([severity]) => severity !== "I")).toEqual([]);

    const reader = packageReader(path);
    const [main] = (await readPackage(reader)).program.functions;
    await reader.close();
    expect(main?.operations.filter(({ type }) => type === "while_loop")).toHaveLength(loops);

    const tensors = sampleTensors(sample);
    const opened = await openPackage(path);
    const made = await opened.predict(
      Object.fromEntries(tensors.map(({ data }, i) => [inputName(i), Float32Array.from(data)])),
    );
    await opened.close();
    const wanted = finish(evaluate(graph, sampleRun(sample, tensors))).outputs;
    expect(Object.keys(wanted).length).toBeGreaterThan(0);
    for (const [output, want] of Object.entries(wanted)) {
      const got = made[output];
      expect(got?.data).toHaveLength(want.data.length);
      const size = Math.sqrt(want.data.reduce((sum, v) => sum + v * v, 0) / Math.max(1, want.data.length));
      want.data.forEach((v, at) => expect(Math.abs((got?.data[at] ?? NaN) - v)).toBeLessThan(1e-4 * (1 + size)));
    }
  });
});
