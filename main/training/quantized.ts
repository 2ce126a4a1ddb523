/**
 * A net in few bits, before it is one: its products read weights and activations that are rounded to a grid of whole numbers
 * and multiplied back. Calibration looks at the activations of some batches and says how wide each grid has to be (PTQ).
 * Training the rounded net lets the weights find their places on the grid (QAT): the gradient of a rounding is that of its
 * operand, and numbers beyond the grid get none.
 */
import { WorkbenchError } from "../diagnostics/errors.ts";
import type { Graph } from "../ir/graph.ts";
import { numbersIn } from "../ir/hostBytes.ts";
import type { Pass } from "../ir/pass.ts";
import type { QuantizedBits, Ranges } from "../passes/fewBits.ts";
import { PRODUCT_OPS, fewBits, rangeName, rangeProbes } from "../passes/fewBits.ts";
import { inputsOf } from "../runtime/device.ts";
import type { Numbers } from "../runtime/numbers.ts";
import { typedInputs } from "../runtime/numbers.ts";
import type { TrainingDevice } from "./trainingDevice.ts";

/** The pass's graph; without a product there is nothing to round. */
function passed(pass: Pass, graph: Graph): { readonly graph: Graph; readonly products: number } {
  const { graph: next, hits: products } = pass.run(graph);
  if (products === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[quantize] graph: got no product with a trained weight, expected one", {
      hint: `Products are ${PRODUCT_OPS.join(", ")}, and their second operand is a weight that is trained.`,
    });
  return { graph: next, products };
}

/** Runs the batches through the net with these weights, and gives the largest activation of each product. */
export async function calibrate(
  graph: Graph,
  trainable: readonly string[],
  weights: Readonly<Record<string, Numbers>>,
  batches: readonly Readonly<Record<string, Numbers>>[],
  device: TrainingDevice,
  signal?: AbortSignal,
): Promise<Ranges> {
  if (batches.length === 0)
    throw new WorkbenchError("INPUT_ARGUMENT", "[quantize] batches: got none, expected at least one", {
      hint: "Give some batches of the training data to calibrate with.",
    });
  const { graph: probed, products } = passed(rangeProbes(new Set(trainable)), graph);
  const runner = await device.open(probed, "f32");
  const names = Array.from({ length: products }, (_, i) => rangeName(i));
  const ranges = names.map(() => 0);
  try {
    for (const batch of batches) {
      const made = await runner.run(typedInputs(inputsOf(probed), { ...weights, ...batch }), names, signal);
      names.forEach((name, i) => {
        const tensor = made[name];
        const largest = tensor === undefined ? NaN : (numbersIn(tensor.dtype, tensor.bytes)[0] ?? NaN);
        ranges[i] = Math.max(ranges[i] ?? 0, largest);
      });
    }
  } finally {
    await runner.dispose();
  }
  return ranges;
}

/** The net as it would be in so many bits, with the ranges of a calibration. It is trained like any other: that is QAT. */
export function quantizedGraph(graph: Graph, trainable: readonly string[], ranges: Ranges, bits: QuantizedBits): Graph {
  requireBits("weights", bits.weights, 8);
  requireBits("activations", bits.activations, 16);
  const odd = ranges.findIndex((range) => !Number.isFinite(range) || range < 0);
  if (odd >= 0)
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[quantize] range ${odd}: got ${String(ranges[odd])}, expected a number`,
      { hint: "Calibrate again, with weights and batches that are finite." },
    );
  const made = passed(fewBits(new Set(trainable), ranges, bits), graph);
  if (made.products !== ranges.length)
    throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] ranges: got ${ranges.length}, expected ${made.products}`, {
      hint: "Calibrate the same net.",
    });
  return made.graph;
}

function requireBits(what: string, bits: number, most: number): void {
  if (Number.isInteger(bits) && bits >= 2 && bits <= most) return;
  throw new WorkbenchError("INPUT_ARGUMENT", `[quantize] bits of ${what}: got ${bits}, expected 2 to ${most}`, {
    hint: "Give a whole number of bits.",
  });
}
