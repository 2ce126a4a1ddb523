// What a package must say of its functions to be a decoder: its metadata is a file's, and files lie.
import { expect, it } from "vitest";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { PackageRunner } from "./packageRunner.ts";
import { PackageDecoder } from "./packageDecoder.ts";

const NAMES = { tokens: "tokens", past: "past", rows: "rows", logits: "logits" };

function opened(shape: readonly number[], free?: readonly number[]): PackageDecoder {
  const tokens: FeatureBinding = {
    feature: "tokens",
    kind: "input",
    name: "tokens",
    dtype: "int32",
    shape,
    ...(free === undefined ? {} : { free }),
  };
  const runner = { label: "coreml", truth: "simulated", newState: () => ({}) };
  return new PackageDecoder(runner as unknown as PackageRunner, { main: [tokens] }, NAMES);
}

it.each([
  ["no tokens", [0], undefined],
  ["any number of tokens up to none", [0], [0]],
  ["two tokens and nothing else", [2], undefined],
  ["a number for its tokens that is none", [], undefined],
])("a function that takes %s is refused", (_, shape, free) => {
  expect(() => opened(shape, free)).toThrow(
    expect.objectContaining({
      code: "INPUT_ARGUMENT",
      message: expect.stringContaining("[coreml] the package has no function that takes one token"),
    }),
  );
});
