/**
 * The registry of host functions for the `custom` op, by name. A graph names its function and the output types, so any
 * program can build, print and route it; to run it, a program must have registered the function. A name has up to two:
 * `registerCustomKernel` gives the meaning (exact, with a gradient), `registerCoremlKernel` a version for hybrid Core ML
 * runs, which may be asynchronous. Where only the meaning is registered, it is used everywhere.
 */
import type { CoremlKernel } from "../../backends/coreml/hybrid/customKernels.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import { mapTensor } from "../families/host.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface CustomKernel {
  readonly summary: string;
  readonly run: (inputs: readonly HostTensor[], outputTypes: readonly TensorType[]) => readonly HostTensor[];
  /** One cotangent per input. Without it the op has no gradient. */
  readonly vjp?: (
    g: OpBuilder,
    inputs: readonly Value[],
    outputs: readonly Value[],
    cotangents: readonly (Value | undefined)[],
  ) => readonly (Value | undefined)[];
}

interface Registered {
  readonly meaning?: CustomKernel;
  readonly coreml?: CoremlKernel;
}
const registry = new Map<string, Registered>();

function register<Part extends keyof Registered>(
  name: string,
  part: Part,
  kernel: NonNullable<Registered[Part]>,
): () => void {
  if (registry.get(name)?.[part] !== undefined)
    throw new WorkbenchError(
      "IR_STRUCTURE",
      `[custom] a ${part === "coreml" ? "Core ML " : ""}kernel named "${name}" is registered already`,
    );
  registry.set(name, { ...registry.get(name), [part]: kernel });
  return () => {
    const { [part]: known, ...others } = registry.get(name) ?? {};
    if (known !== kernel) return;
    if (Object.keys(others).length > 0) registry.set(name, others);
    else registry.delete(name);
  };
}

/** Registers the meaning of the op. Returns the function that removes it. A name is registered once. */
export const registerCustomKernel = (name: string, kernel: CustomKernel): (() => void) =>
  register(name, "meaning", kernel);

/** Registers the version for Core ML runs. Returns the function that removes it. A name is registered once. */
export const registerCoremlKernel = (name: string, kernel: CoremlKernel): (() => void) =>
  register(name, "coreml", kernel);

/** The error names the registered functions that would do. */
function missing(name: string, has: (known: Registered) => boolean, functions: string): never {
  const names = [...registry].flatMap(([one, known]) => (has(known) ? [one] : [])).sort();
  throw new WorkbenchError(
    "UNSUPPORTED_OP",
    `[custom] no kernel named "${name}" is registered: have ${names.join(", ") || "none"}`,
    { hint: `Register the host function before running the graph: ${functions} (docs/extending.md).` },
  );
}

export const customKernel = (name: string): CustomKernel =>
  registry.get(name)?.meaning ?? missing(name, ({ meaning }) => meaning !== undefined, "registerCustomKernel");

export const coremlKernel = (name: string): CoremlKernel =>
  registry.get(name)?.coreml ??
  registry.get(name)?.meaning?.run ??
  missing(name, () => true, "registerCoremlKernel or registerCustomKernel");

// The kernel of the demo graph and the samples: shrinks every number towards zero by a threshold.
// Its Core ML version computes in f32, as an engine would, so that a demo run is not compared with
// itself.
export const SOFT_THRESHOLD = "soft_threshold";
const THRESHOLD = 0.1;
const NARROW_THRESHOLD = Math.fround(THRESHOLD);
const elementwise =
  (f: (value: number) => number) =>
  ([x]: readonly HostTensor[]): readonly HostTensor[] =>
    x ? [mapTensor(x, f)] : [];
registerCoremlKernel(
  SOFT_THRESHOLD,
  elementwise((v) => Math.sign(v) * Math.max(Math.fround(Math.abs(v) - NARROW_THRESHOLD), 0)),
);
registerCustomKernel(SOFT_THRESHOLD, {
  summary: `sign(x) · max(|x| - ${THRESHOLD}, 0)`,
  run: elementwise((v) => Math.sign(v) * Math.max(Math.abs(v) - THRESHOLD, 0)),
  vjp: (g, _inputs, [y], [ct]) => [y && ct ? g.mul([ct, g.abs([g.sign([y])])]) : undefined],
});
