/**
 * Numbers of c64 in ops that only move elements: their real parts move as real numbers do, and their imaginary parts just so.
 * In the reference each op runs once for each; in gradients what c64 has no operation for, sums, is made of both.
 */
import { invariant } from "../diagnostics/errors.ts";
import type { Value } from "../ir/graph.ts";
import type { HostTensor } from "../ir/hostTensor.ts";
import { hostTensor } from "../ir/hostTensor.ts";
import type { TensorType } from "../ir/type.ts";
import { like } from "../ir/type.ts";
import type { OpBuilder } from "./opBuilder.ts";

export type Part = "real" | "imaginary";

/** `move` over one part of each complex operand; operands of other types, such as indices, are the same both times. */
export function moveParts(
  inputs: readonly HostTensor[],
  types: readonly TensorType[],
  move: (inputs: readonly HostTensor[], types: readonly TensorType[], part: Part) => readonly HostTensor[],
): readonly HostTensor[] {
  const isComplex = types.map(({ dtype }) => dtype === "c64");
  if (!isComplex.includes(true)) return move(inputs, types, "real");
  const plain = types.map((type) => (type.dtype === "c64" ? like(type, "f64") : type));
  const [real, imaginary] = (["real", "imaginary"] as const).map((part) =>
    move(
      inputs.map((x) => partOf(x, part)),
      plain,
      part,
    ),
  );
  return (real ?? []).map((x, i) => (isComplex[i] === true ? paired(x, imaginary?.[i]) : x));
}

const partOf = (x: HostTensor, part: Part): HostTensor =>
  x.dtype === "c64"
    ? hostTensor(
        "f64",
        x.shape,
        x.data.filter((_, i) => i % 2 === (part === "real" ? 0 : 1)),
      )
    : x;

function paired(real: HostTensor, imaginary: HostTensor | undefined): HostTensor {
  invariant(imaginary, "both parts of a complex result are made");
  const data = new Float64Array(2 * real.data.length);
  real.data.forEach((value, i) => (data[2 * i] = value));
  imaginary.data.forEach((value, i) => (data[2 * i + 1] = value));
  return hostTensor("c64", real.shape, data);
}

/** `f` of the real and of the imaginary part of a value, as a complex number again; of a real value, `f`. */
export function ofEachPart(g: OpBuilder, z: Value, f: (part: Value) => Value): Value {
  const { dtype, shape } = g.typeOf(z);
  if (dtype !== "c64") return f(z);
  const block = g.from_complex([g.reshape([z], { shape: [...shape, 1] })]);
  const made = [0, 1].map((start) => {
    const part = f(g.reshape([g.narrow([block], { axis: shape.length, start, length: 1 })], { shape }));
    return g.reshape([part], { shape: [...g.typeOf(part).shape, 1] });
  });
  const pairs = g.to_complex([g.concat(made, { axis: g.typeOf(made[0] ?? z).shape.length - 1 })]);
  return g.reshape([pairs], { shape: g.typeOf(pairs).shape.slice(0, -1) });
}
