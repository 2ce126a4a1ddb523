import { WorkbenchError } from "../../diagnostics/errors.ts";
import { hostTensor } from "../../ir/hostTensor.ts";
import { formatType, tensor } from "../../ir/type.ts";
import type { Op } from "../defineOp.ts";
import { defineOp, nondifferentiable } from "../defineOp.ts";
import type { Minifloat, MinifloatAttrs } from "../families/minifloat.ts";
import { decodeParts, decoded, minifloatSchema } from "../families/minifloat.ts";
import { lines } from "../families/oracle.ts";
import { byParts } from "../families/parts.ts";
import { integers, sample, values } from "../families/samples.ts";

const ALL = Array.from({ length: 256 }, (_, code) => code);
const numbers = (format: Minifloat): readonly number[] => ALL.filter((code) => !Number.isNaN(decoded(code, format)));

export const from_minifloat: Op<"from_minifloat", MinifloatAttrs, 1> = defineOp({
  name: "from_minifloat",
  summary: "What codes of floats of eight or four bits stand for, in f32; of e2m1 the low four bits of a byte count.",
  arity: 1,
  operands: ["codes"],
  outputs: "one",
  attributes: minifloatSchema,
  infer: ([codes]) => {
    if (codes.dtype !== "u8")
      throw new WorkbenchError("IR_TYPE", `[from_minifloat] codes: got ${formatType(codes)}, expected u8`);
    return tensor("f32", codes.shape);
  },
  reference: ([codes], { format }) =>
    hostTensor(
      "f32",
      codes.shape,
      codes.data.map((code) => decoded(code, format)),
    ),
  oracle: {
    jax: lines(
      "kind = {'e4m3': jnp.float8_e4m3fn, 'e5m2': jnp.float8_e5m2, 'e2m1': jnp.float4_e2m1fn}[a['format']]",
      "codes = np.asarray(x0).astype(np.uint8) & (15 if a['format'] == 'e2m1' else 255)",
      "codes.view(np.dtype(kind)).astype('f8')",
    ),
  },
  ...byParts((g, [codes], { format }) => decodeParts(g, codes, format)),
  gradient: nondifferentiable("the operand is codes, which are whole numbers"),
  traits: ["pure"],
  samples: [
    sample("odd sizes", [integers(1, [3, 5], 0, 126, "u8")], { format: "e4m3" }),
    sample("symbolic", [integers(2, [3, "T"], 0, 123, "u8")], { format: "e5m2" }, { bindings: { T: 5 } }),
    sample("every number", [values(numbers("e4m3"), [127, 2], "u8")], { format: "e4m3" }),
    sample("every number of the wide one", [values(numbers("e5m2"), [25, 10], "u8")], { format: "e5m2" }),
    sample("every code of four bits, and bytes with more", [values(ALL, [256], "u8")], { format: "e2m1" }),
    sample("nothing", [values([], [0, 3], "u8")], { format: "e4m3" }),
  ],
});
