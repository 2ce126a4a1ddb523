/** What `defineOp` refuses is refused by the type checker: without the refusal, the comments below are errors themselves. */
import { describe, expect, it } from "vitest";
import type { NoAttrs } from "../ir/attributes.ts";
import { add } from "./binary/add.ts";
import type { Op } from "./defineOp.ts";
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
  });
});
