/**
 * What `defineOp` refuses is refused by the type checker: without the refusal, the comments below
 * are errors themselves.
 */
import { describe, expect, it } from "vitest";
import type { NoAttrs } from "../ir/attributes.ts";
import { add } from "./binary/add.ts";
import type { InputsOf, Op, Range } from "./defineOp.ts";
import { STABLE_BACKENDS, defineOp } from "./defineOp.ts";

type Add = Op<"add", NoAttrs, 2>;

const { backends, ...rest } = add;
const { cpu, coreml, mlx } = backends;
const { gradient, ...withoutGradient } = rest;

describe("an op", () => {
  it("is whole with its gradient and an entry for each stable backend, and does not compile with one less", () => {
    const whole: Add = defineOp({ ...withoutGradient, gradient, backends: { cpu, coreml, mlx } });
    expect(whole).toEqual(add);
    // @ts-expect-error: no entry for the CPU
    const noCpu: Add = defineOp({ ...rest, backends: { coreml, mlx } });
    // @ts-expect-error: no entry for Core ML
    const noCoreml: Add = defineOp({ ...rest, backends: { cpu, mlx } });
    // @ts-expect-error: no entry for MLX
    const noMlx: Add = defineOp({ ...rest, backends: { cpu, coreml } });
    const missing = [noCpu, noCoreml, noMlx].map((op) => STABLE_BACKENDS.filter((name) => !(name in op.backends)));
    expect(missing).toEqual([["cpu"], ["coreml"], ["mlx"]]);
    // @ts-expect-error: no gradient
    const noGradient: Add = defineOp({ ...withoutGradient, backends });
    expect(noGradient).not.toHaveProperty("gradient");
    // @ts-expect-error: a name for one of two operands
    const oneName: Add = defineOp({ ...add, operands: ["left"] });
    expect(oneName.operands).toHaveLength(1);
  });

  it("gives its rules a tuple: what must be there is there, the rest may be missing", () => {
    const must = ([a, b]: InputsOf<Range<2, 3>, number>): number => a + b;
    // @ts-expect-error: the third may be missing
    const may = ([, , c]: InputsOf<Range<2, 3>, number>): number => c;
    expect([must([1, 2]), must([1, 2, 3]), may([1, 2])]).toEqual([3, 3, undefined]);
    // @ts-expect-error: one is too few
    expect(must([1])).toBeNaN();
    // @ts-expect-error: four are too many
    expect(must([1, 2, 3, 4])).toBe(3);
  });
});
