/** A lowered program as a package on the disk, in which coremltools finds nothing wrong. */
import { expect } from "vitest";
import type { LoweredProgram } from "../backends/coreml/lowering/lower.ts";
import { writePackage } from "../backends/coreml/package.ts";
import type { WeightBytes } from "../backends/coreml/weights/write.ts";
import { writeWeights } from "../backends/coreml/weights/write.ts";
import { packageWriter } from "../node/files/packageDirectory.ts";
import { validatePackage } from "./oracle.ts";

export async function writeValidPackage(path: string, lowered: LoweredProgram, source: WeightBytes): Promise<void> {
  const { program, opset, plan } = lowered;
  const metadata = { shortDescription: "a test", author: "", license: "", version: "1", userDefined: {} };
  await writePackage(
    await packageWriter(path),
    plan.blob,
    async (sink) => void (await writeWeights(plan, source, sink)),
    () => ({ program, opset, defaultFunction: "main", metadata }),
  );
  expect((await validatePackage(path)).rows.filter(([severity]) => severity !== "I")).toEqual([]);
}
