/** 20 000 damaged safetensors headers and as many other damaged files: coded errors within a second and 256 MiB. */
import { expect, it } from "vitest";
import { damagedFile, damagedForm, damagedSafetensors } from "../testing/hostileFolders.ts";
import type { Attack } from "../testing/hostileGguf.ts";
import { attackAll } from "../testing/longAttack.ts";

it.each([
  ["safetensors headers", 10_000, damagedSafetensors(false)],
  ["safetensors headers of folders", 10_000, damagedSafetensors(true)],
  ["config.json files", 1000, damagedFile("config.json")],
  ["tokenizer.json files", 1000, damagedFile("tokenizer.json")],
  ["GGUF headers of version 1", 1000, damagedForm(false)],
  ["big-endian GGUF headers", 1000, damagedForm(true)],
] as const satisfies readonly (readonly [string, number, Attack])[])(
  "%s, %i of them",
  async (_title, count, options) => {
    const ends = await attackAll(3_000_000, count, options);
    // The damage goes everywhere: some still open, others do not, for different reasons.
    expect(ends.get("opened")).toBeGreaterThan(count / 100);
    expect([...ends.values()].filter((times) => times >= count / 500).length).toBeGreaterThanOrEqual(3);
  },
);
