import { expect, it } from "vitest";
import { WorkbenchError } from "../diagnostics/errors.ts";
import { memorySource } from "../formats/byteSource.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import { checkpointPieces, readCheckpoint } from "./checkpoint.ts";
import type { Snapshot } from "./session.ts";

const snapshot: Snapshot = {
  steps: 12,
  tensors: {
    w: hostTensor("f64", [2, 3], [1, -0, 1e-320, Number.MAX_VALUE, 1 / 3, NaN]),
    "training_m.w": hostTensor("f64", [], [0.1]),
    empty: hostTensor("f64", [0, 4], []),
  },
  scale: { scale: 1024, good: 7 },
};

const joined = (pieces: readonly Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(pieces));
const read = (bytes: Uint8Array): Promise<Snapshot> => readCheckpoint(memorySource("a.safetensors", bytes));

it("gives back every bit, with and without a scale of the loss", async () => {
  const bytes = joined(checkpointPieces(snapshot));
  const back = await read(bytes);
  expect(back).toEqual(snapshot);
  expect(Object.is(back.tensors["w"]!.data[1], -0)).toBe(true);
  expect(joined(checkpointPieces(back))).toEqual(bytes);
  const { steps, tensors } = snapshot;
  expect(await read(joined(checkpointPieces({ steps, tensors })))).toEqual({ steps, tensors });
});

it("begins its data at whole words, with names of any length", () => {
  for (let length = 1; length <= 8; length++) {
    const [head] = checkpointPieces({ steps: 1, tensors: { ["n".repeat(length)]: hostTensor("f64", [1], [2]) } });
    expect(head!.byteLength % 8).toBe(0);
    expect(Number(new DataView(head!.buffer).getBigUint64(0, true))).toBe(head!.byteLength - 8);
  }
});

it("refuses what is none, and what is damaged", async () => {
  const text = (from: string, to: string): Uint8Array => {
    const bytes = Buffer.from(joined(checkpointPieces(snapshot)));
    const at = bytes.indexOf(from);
    expect(at).toBeGreaterThan(0);
    expect(to.length).toBe(from.length);
    bytes.write(to, at);
    return Uint8Array.from(bytes);
  };
  await expect(read(text("rlx training", "rlx straining".slice(0, 12)))).rejects.toThrow('expected "rlx training 1"');
  await expect(read(text('"version":"1"', '"version":"9"'))).rejects.toThrow("rlx training 9");
  await expect(read(text('"steps":"12"', '"steps":"-2"'))).rejects.toThrow("steps: got");
  await expect(read(text('"steps":"12"', '"steps":"1."'.padEnd(12)))).resolves.toMatchObject({ steps: 1 });
  await expect(read(text('"scale":"1024"', '"scale":"0.24"'))).rejects.toThrow("expected a number from 1");
  await expect(read(text('"F64","shape":[2,3]', '"F32","shape":[4,3]'))).rejects.toThrow("got F32, expected F64");
});

it("answers any damage of a byte with a snapshot or an error with a code", async () => {
  const bytes = joined(checkpointPieces(snapshot));
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    await read(damaged).catch((error: unknown) => expect(error).toBeInstanceOf(WorkbenchError));
    await read(bytes.slice(0, at)).then(
      () => expect.unreachable(`cut at ${at}`),
      (error: unknown) => expect(error).toBeInstanceOf(WorkbenchError),
    );
  }
});
