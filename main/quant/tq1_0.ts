/**
 * TQ1_0: 256 values of −1, 0 or 1 times d. A byte holds five digits to the base 3 as a fraction:
 * digit n is the whole part of three times what is left after multiplying by 3ⁿ. 32 bytes hold 160
 * values (digit by digit), 16 bytes 80, and four bytes four digits each.
 */
import { codedFormat } from "./coded.ts";
import { f16At } from "./half.ts";

const RUNS = [
  { first: 0, bytes: 32, digits: 5 },
  { first: 32, bytes: 16, digits: 5 },
  { first: 48, bytes: 4, digits: 4 },
] as const;

export const tq1_0 = codedFormat(
  {
    ggml: 34,
    elements: 256,
    bytes: 54,
    layout: "48 bytes: five ternary digits each · 4 bytes: four digits each · f16 d",
    factors: [52],
  },
  {
    group: 256,
    largest: 1,
    read(bytes, from, codes, to, factors, at) {
      factors[at] = f16At(bytes, from + 52);
      for (const run of RUNS)
        for (let digit = 0, power = 1; digit < run.digits; digit++, power *= 3)
          for (let i = 0; i < run.bytes; i++) {
            const fraction = ((bytes[from + run.first + i] ?? 0) * power) & 255;
            codes[to++] = ((fraction * 3) >> 8) - 1;
          }
    },
  },
);
