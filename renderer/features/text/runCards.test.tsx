// What a run says of each output: statistics, its distance from the reference, and what is no number.
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { Distance } from "../../../main/contract/distance.ts";
import type { TextRun } from "../../../main/contract/views/text.ts";
import { OutputCard } from "./RunResults.tsx";

const runOf = (error: Distance, values: readonly number[]): TextRun => ({
  ...{ device: "cpu", sentence: "CPU: compiled.", seconds: 1, compileSeconds: 1, times: [1], steps: null },
  ...{ symbols: {}, inputs: [] },
  outputs: [
    {
      ...{ name: "y", dtype: "f32", shape: [values.length], count: values.length, odd: 1 },
      ...{ least: null, most: null, mean: null, values: Float64Array.from(values), error },
    },
  ],
});

it.each([
  ["Infinity", "NaN or ∞"],
  [0, "none"],
  [0.00123, "1.2e-3"],
] as const)("shows an error of %s as %s", (error, text) => {
  const shown = renderToStaticMarkup(<OutputCard name="y" runs={[runOf(error, [NaN])]} titleOf={String} />);
  expect(shown).toContain(`<td>${text}</td>`);
});
