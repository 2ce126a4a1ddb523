// Our schema subset against Apple's, as coremltools ships it: every message, field number, type and enum value.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ask, oracleMissing } from "../../testing/oracle.ts";

const missing = oracleMissing();

/** "Message.field" → number, and "Enum.VALUE" → number, read out of the .proto texts. */
function numbersIn(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const path: string[] = [];
  for (const raw of text.split("\n")) {
    const line = raw.replace(/\/\/.*$/, "").trim();
    const open = /^(message|enum|oneof) (\w+) \{/.exec(line);
    if (open) path.push(open[1] === "oneof" ? "" : (open[2] ?? ""));
    else if (line === "}") path.pop();
    const field = /(\w+) = (\d+);/.exec(line);
    if (field && path.length > 0) found.set([...path.filter((p) => p !== ""), field[1]].join("."), Number(field[2]));
  }
  return found;
}

describe.skipIf(missing)(`schema ${missing ?? ""}`, () => {
  it("has Apple's numbers for every message and field it names", async () => {
    const ours = new Map<string, number>();
    for (const file of ["Model", "FeatureTypes", "MIL"])
      for (const [key, number] of numbersIn(
        readFileSync(new URL(`../../../proto/${file}.proto`, import.meta.url), "utf8"),
      ))
        ours.set(key, number);
    expect(ours.size).toBeGreaterThan(150);
    const theirs = (await ask("coreml.schema_numbers")) as Readonly<Record<string, number>>;
    const wrong = [...ours]
      .filter(([key, number]) => theirs[key] !== number)
      .map(([key, number]) => `${key} = ${number}, Apple's ${theirs[key] ?? "has none"}`);
    expect(wrong).toEqual([]);
  });
});
