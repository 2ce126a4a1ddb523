/**
 * The registry of host functions for the `custom` op, by name. A graph names its function and the output types, so any
 * program can build, print and route it; to run it, a program must have registered the function. A name has up to two:
 * `registerCustomKernel` gives the meaning (exact, with a gradient), `registerCoremlKernel` a version for hybrid Core ML
 * runs, which may be asynchronous. Where only the meaning is registered, it is used everywhere.
 */
import type { CoremlKernel } from "../../backends/coreml/hybrid/customKernels.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import type { Value } from "../../ir/graph.ts";
import type { HostTensor } from "../../ir/hostTensor.ts";
import type { TensorType } from "../../ir/type.ts";
import type { OpBuilder } from "../opBuilder.ts";

export interface CustomKernel {
  readonly summary: string;
  readonly run: (inputs: readonly HostTensor[], outputTypes: readonly TensorType[]) => readonly HostTensor[];
  /** One cotangent per input. Without it the gradient is the transpose of `jvp`, and without both there is none. */
  readonly vjp?: (
    g: OpBuilder,
    inputs: readonly Value[],
    outputs: readonly Value[],
    cotangents: readonly (Value | undefined)[],
  ) => readonly (Value | undefined)[];
  /** One tangent per output, linear in those of the inputs. Without it forward mode is the transpose of `vjp`. */
  readonly jvp?: (
    g: OpBuilder,
    inputs: readonly Value[],
    outputs: readonly Value[],
    tangents: readonly (Value | undefined)[],
  ) => readonly (Value | undefined)[];
  /**
   * The outputs of `size` items, with an axis of items in front. Inputs have it where `batched` says so. Without it the
   * function is called for each item.
   */
  readonly vmap?: (g: OpBuilder, inputs: readonly Value[], batched: readonly boolean[], size: Dim) => readonly Value[];
}

interface Registered {
  readonly meaning?: CustomKernel;
  readonly coreml?: CoremlKernel;
}
// The one that the demo graph and the samples use: shrinks every number towards zero by a threshold. Between Core ML parts it
// counts in f32, as an engine would, so that what a demo run is compared with is not itself.
export const SOFT_THRESHOLD = "soft_threshold";
const THRESHOLD = 0.1;
const NARROW_THRESHOLD = Math.fround(THRESHOLD);
const softThresholdOnCoreml: CoremlKernel = ([x]) =>
  x
    ? [
        {
          dtype: x.dtype,
          shape: x.shape,
          data: x.data.map((v) => Math.sign(v) * Math.max(Math.fround(Math.abs(v) - NARROW_THRESHOLD), 0)),
        },
      ]
    : [];
const softThreshold: CustomKernel = {
  summary: `sign(x) · max(|x| - ${THRESHOLD}, 0)`,
  run: ([x]) =>
    x
      ? [
          {
            dtype: x.dtype,
            shape: x.shape,
            data: x.data.map((v) => Math.sign(v) * Math.max(Math.abs(v) - THRESHOLD, 0)),
          },
        ]
      : [],
  vjp: (g, _inputs, [y], [ct]) => [y && ct ? g.mul([ct, g.abs([g.sign([y])])]) : undefined],
};

const registry = new Map<string, Registered>([
  [SOFT_THRESHOLD, { meaning: softThreshold, coreml: softThresholdOnCoreml }],
]);

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
