/** Every optimiser for 200 steps over gradients of simulated Core ML in f32, beside what it means in float64. */
import { expect, it } from "vitest";
import { apartFromMeaning, titledRuns } from "../../testing/optimiserRuns.ts";
import { simulatedTraining } from "./index.ts";

const device = simulatedTraining();

it.each(titledRuns)("%s over a package", async (_, one) => {
  expect(await apartFromMeaning(device, one, false)).toBeLessThan(1e-4);
});
