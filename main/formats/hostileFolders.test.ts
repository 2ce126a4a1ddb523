/** Damaged files of folders end in errors with a code and a next step. The 20 000 of them are in hostileFolders.slow.test.ts. */
import { expect, it } from "vitest";
import { damagedFile, damagedForm, damagedSafetensors } from "../testing/hostileFolders.ts";
import type { Attack } from "../testing/hostileGguf.ts";
import { attack } from "../testing/hostileGguf.ts";

it.each([
  ["a safetensors file", damagedSafetensors(false)],
  ["a safetensors file of a folder", damagedSafetensors(true)],
  ["config.json", damagedFile("config.json")],
  ["modules.json", damagedFile("modules.json")],
  ["tokenizer.json", damagedFile("tokenizer.json")],
  ["tokenizer_config.json", damagedFile("tokenizer_config.json")],
  ["a GGUF of version 1", damagedForm(false)],
  ["a big-endian GGUF", damagedForm(true)],
] as const satisfies readonly (readonly [string, Attack])[])(
  "100 damages of %s: coded errors, or a model",
  async (_title, options) => {
    const { faults, outcomes } = await attack(0, 100, options);
    expect(faults).toEqual([]);
    expect(outcomes.get("opened") ?? 0).toBeGreaterThan(1);
    expect(outcomes.size).toBeGreaterThan(1);
  },
);

it.each([
  ["a safetensors file of a folder", damagedSafetensors(true)],
  ["a GGUF of version 1", damagedForm(false)],
  ["a big-endian GGUF", damagedForm(true)],
] as const satisfies readonly (readonly [string, Attack])[])(
  "what is damaged opens when it is whole: %s",
  async (_title, { victim, work }) => {
    const { bytes, total } = victim!;
    const read = async (offset: number, length: number): Promise<Uint8Array> => {
      const out = new Uint8Array(length);
      if (offset < bytes.length) out.set(bytes.subarray(offset, Math.min(bytes.length, offset + length)));
      return out;
    };
    await work!({ name: "whole", byteLength: total, read, close: async () => undefined });
  },
);
