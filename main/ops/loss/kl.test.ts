import { expect, it } from "vitest";
import { finish } from "../../ir/steps.ts";
import { divergence, DIVERGENCE, DIVERGENCE_GRADIENTS, DIVERGENCE_INPUTS } from "../../testing/divergence.ts";
import { evaluate } from "../evaluate.ts";

it("is 0 at no share, whatever the logarithm there, and infinite below; its gradient is 0 there", () => {
  const { graph, gradient } = divergence();
  const { "cotangent.y": cotangent, ...inputs } = DIVERGENCE_INPUTS;
  const made = {
    ...finish(evaluate(graph, { inputs })).outputs,
    ...finish(evaluate(gradient, { inputs: { ...inputs, "cotangent.y": cotangent } })).outputs,
  };
  for (const [name, { data }] of Object.entries({ y: DIVERGENCE, ...DIVERGENCE_GRADIENTS }))
    for (const [i, value] of data.entries()) expect(made[name]?.data[i], `${name}[${i}]`).toBeCloseTo(value, 6);
});
