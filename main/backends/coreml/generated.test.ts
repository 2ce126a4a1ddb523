// What is checked in as generated is what the inputs give today; a run of the generators must change nothing.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

interface ProtoGenerator {
  generate(): Readonly<Record<string, string>>;
}
interface MilGenerator {
  generate(): string;
}

it("protobuf code is current", { timeout: 60_000 }, async () => {
  const { generate } = (await import(
    new URL("../../../proto/generateProto.mjs", import.meta.url).href
  )) as ProtoGenerator;
  for (const [name, text] of Object.entries(generate()))
    expect(read(`./generated/${name}`) === text, `${name}: npm run proto`).toBe(true);
});

it("the operator table is current", async () => {
  const { generate } = (await import(
    new URL("../../../proto/generateMilOps.mjs", import.meta.url).href
  )) as MilGenerator;
  expect(read("./mil/ops.generated.ts") === generate(), "ops.generated.ts: npm run proto").toBe(true);
});
