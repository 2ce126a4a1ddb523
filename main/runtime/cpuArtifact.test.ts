import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { compileNow } from "../compiler/compile.ts";
import { seededRandom } from "../testing/random.ts";
import { tinyModel } from "../testing/tinyModels.ts";
import { decodeArtifact, encodeArtifact } from "./cpuArtifact.ts";
import { compileArtifact } from "./devices/cpu.ts";

const artifact = compileArtifact(compileNow(tinyModel("llama"), { backend: "cpu" }).graph, {
  weights: { paths: [], locate: () => ({ file: 0, offset: 0, bytes: 1 }) },
});
const bytes = encodeArtifact(artifact);

/** Bytes with this text in place of the JSON. */
function withText(text: string | Uint8Array): Uint8Array {
  const encoded = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const made = new Uint8Array(4 + encoded.length + 8);
  new DataView(made.buffer).setUint32(0, encoded.length, true);
  made.set(encoded, 4);
  return made;
}

describe("a compiled graph in bytes", () => {
  it("comes back as it was, with what steps are called", () => {
    expect(decodeArtifact(bytes)).toEqual(artifact);
    expect(artifact.inputs.map(({ name }) => name)).toEqual(["tokens", "past", "logit_rows"]);
    expect(artifact.steps.map(({ label }) => label)).toContain("blk.1/attention");
    expect(artifact.steps.find(({ kernel }) => kernel === "linear_block")?.op).toMatch(/linear/);
    expect(artifact.weightBytes).toBeGreaterThan(0);
    expect(artifact.arenaBytes).toBeGreaterThan(0);
  });

  it("is refused when any field is missing or of another kind", () => {
    const step = { kernel: "add", op: "add", label: "", nodes: [1], sources: [4] };
    const inputs = [{ name: "x", type: "f32[T,4]" }];
    const ring = { rows: 256, spare: 128 };
    const good = { steps: [step], inputs, weightBytes: 1, arenaBytes: 0, rewind: "ring", ring };
    const read = (value: unknown): unknown => decodeArtifact(withText(JSON.stringify(value)));
    expect(read(good)).toMatchObject({
      steps: [step],
      inputs: [{ name: "x", type: { dtype: "f32", shape: ["T", 4] } }],
      ring,
    });
    expect(read({ ...good, ring: undefined })).toMatchObject({ ring: undefined });
    const bad: unknown[] = [null, 1, "x", [], [good], {}];
    for (const key of Object.keys(good)) {
      const { [key as keyof typeof good]: _gone, ...rest } = good;
      bad.push(
        ...(key === "ring" ? [] : [rest]),
        ...[null, -1, 0.5, "1", {}, [1], [null], [[]]].map((value) => ({ ...good, [key]: value })),
      );
    }
    for (const key of Object.keys(step))
      for (const value of [null, 5, {}, [-1], [0.5], ["1"]]) bad.push({ ...good, steps: [{ ...step, [key]: value }] });
    for (const key of Object.keys(ring)) bad.push({ ...good, ring: { ...ring, [key]: -1 } });
    for (const type of ["f32", "f33[4]", "f32[-1]", "f32[T+]", "f32[1.5]", "", 4, null])
      bad.push({ ...good, inputs: [{ name: "x", type }] });
    for (const value of bad) expect(read(value), JSON.stringify(value)).toBeUndefined();
  });

  it("is refused when cut, when its text is none, and when a changed byte breaks it; nothing throws", () => {
    for (const length of [0, 1, 3, 4, 5, 100]) expect(decodeArtifact(bytes.subarray(0, length))).toBeUndefined();
    expect(decodeArtifact(withText("{"))).toBeUndefined();
    expect(decodeArtifact(withText(Uint8Array.of(0x22, 0xff, 0x22)))).toBeUndefined();
    expect(decodeArtifact(withText("[".repeat(100_000)))).toBeUndefined();
    const random = seededRandom(9);
    const read = { refused: 0, same: 0, other: 0 };
    for (let i = 0; i < 500; i++) {
      const changed = bytes.slice();
      changed[random.integer(Math.min(changed.length, 4000))] = random.integer(256);
      const made = decodeArtifact(changed);
      if (made === undefined) read.refused += 1;
      else if (isDeepStrictEqual(made, artifact)) read.same += 1;
      else read.other += 1;
    }
    // A changed digit or letter is another artifact (the cache's checksum is what finds it); a changed bracket is none.
    expect(Math.min(read.refused, read.other), JSON.stringify(read)).toBeGreaterThan(50);
  });
});
