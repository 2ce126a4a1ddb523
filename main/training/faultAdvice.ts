/** What to do about a number that is none, by the operation that made it and the ranges of its operands. */
import type { FaultFacts, FaultOperand } from "./fault.ts";

/** Largest finite number of the types that are easily left. */
const LARGEST: Readonly<Record<string, number>> = {
  f16: 65504,
  bf16: 3.3895313892515355e38,
  f32: 3.4028234663852886e38,
};

const reaches = (operand: FaultOperand | undefined, test: (low: number, high: number) => boolean): boolean =>
  operand !== undefined && test(operand.low, operand.high);

export function adviceOn({ op, kind, dtype, inputs }: FaultFacts): string {
  const [first, second] = inputs;
  switch (op) {
    case "input":
      return "The batch holds it before anything is computed: look at the data of this step.";
    case "param":
      return "The weight holds it before anything is computed: go back to a checkpoint, and begin the session with withNanAlarm(), which leaves the weights as they are where a step goes wrong.";
    case "constant":
      return "The graph itself holds it as a constant: give it a finite number.";
    case "log":
      if (reaches(first, (low) => low <= 0))
        return "log has no number at 0 or below: keep its operand above 0, by maximum with a small number, or by a + ε inside. For a loss over softmax, subtract the largest logit and take the log of the sum of exponentials.";
      break;
    case "sqrt":
    case "rsqrt":
      if (reaches(first, (low) => low <= 0))
        return `${op} and its derivative need an operand above 0: add a small number under the root.`;
      break;
    case "div":
      if (reaches(second, (low, high) => low <= 0 && high >= 0))
        return "The divisor reaches 0: add a small number to it, or keep it away from 0 by maximum.";
      break;
    case "pow":
      if (reaches(first, (low) => low <= 0))
        return "A power of 0 or of a negative number has no value for every exponent: keep the base above 0.";
      break;
    default:
  }
  if (kind === "NaN" && inputs.some(({ holds }) => holds !== undefined))
    return "It is a difference, a product or a quotient with an infinity that was there before: use a large finite number (-1e30, in f16 -40000) instead of an infinite mask, and mask no row wholly.";
  if (op === "exp")
    return "The exponential is too large for its type: subtract the largest operand first, as softmax does.";
  if (dtype === "f16")
    return `The result is beyond ${LARGEST["f16"] ?? 0}, the largest number of f16: use the precision "mixed" or "f32", a lower scale of the loss, or a norm before this operation.`;
  return `The result is beyond ${(LARGEST[dtype] ?? Number.MAX_VALUE).toPrecision(3)}, the largest number of ${dtype}: lower the learning rate, clip the gradients, or put a norm before this operation.`;
}

const short = (value: number): string => String(Number(value.toPrecision(4)));

export function faultMessage({ op, name, place, kind, dtype, isGradient, inputs }: FaultFacts): string {
  const where = [place, name].filter((part) => part !== "" && part !== op).join("/");
  const what = `${op}${where === "" ? "" : ` (${where})`}`;
  if (op === "input" || op === "param" || op === "constant") return `${what} holds ${kind}`;
  const ranges = inputs.map(
    ({ name: own, low, high, holds }) =>
      `${own} ${low === high ? short(low) : `${short(low)} … ${short(high)}`}${holds === undefined ? "" : ` and ${holds}`}`,
  );
  const from = ranges.length === 0 ? "" : ` from ${ranges.join(", ")}`;
  return `${what} made ${kind} in ${dtype}${from}${isGradient ? ", in the gradient" : ""}`;
}
