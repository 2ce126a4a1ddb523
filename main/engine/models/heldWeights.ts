/**
 * How the subject of a window holds each tensor of an open model, and in how many bytes: the CPU engine as the file packs it,
 * MLX by its table of forms, Core ML by the weight plan of the very program that the route runs. Nothing is decided here.
 */
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { MIL_DTYPES, elementCount } from "../../backends/coreml/mil/types.ts";
import type { WeightForm } from "../../backends/coreml/weights/forms.ts";
import { heldFor, paletteOf } from "../../backends/coreml/levers.ts";
import { formText, storedForm } from "../../backends/coreml/weights/forms.ts";
import type { PlannedWeight } from "../../backends/coreml/weights/plan.ts";
import { mlxFormText, mlxHeldBytes, mlxWeightForm } from "../../backends/mlx/weightForms.ts";
import type { Phase } from "../../contract/views/common.ts";
import type { Subject } from "../../contract/views/cost.ts";
import type { HeldTensor } from "../../contract/views/model.ts";
import { toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import type { GgufTensor } from "../../formats/gguf/file.ts";
import { isPacked } from "../../ir/dtype.ts";
import type { ElementType } from "../../ir/dtype.ts";
import { subjectTitle } from "../measure/subjectWords.ts";
import type { OpenModel } from "./openModel.ts";
import { planTarget, routeOf } from "./routes.ts";
import type { TaskKind } from "./taskCache.ts";
import { tasksOf } from "./taskCache.ts";

export interface HeldWeights {
  readonly sentence: string;
  readonly of: (tensor: GgufTensor) => HeldTensor;
}

export interface HeldRequest {
  readonly subject: Subject;
  readonly phase: Phase;
}

const PACKAGE: TaskKind<HeldWeights> = { name: "held weights", keep: 2 };

export async function heldWeights(
  model: OpenModel,
  { subject, phase }: HeldRequest,
  signal: AbortSignal,
): Promise<HeldWeights> {
  switch (subject.backend) {
    case "cpu":
      return { sentence: "The CPU engine reads weights as the file packs them.", of: ofKnown(asStored) };
    case "mlx":
      return {
        sentence: "MLX holds weights in groups of its own where they are exact, else in f16.",
        of: ofKnown(onMlx),
      };
    case "coreml":
      return tasksOf(model).get(PACKAGE, JSON.stringify([subject.target, phase]), signal, (own) =>
        inPackage(model, { subject, phase }, own),
      );
  }
}

/** Bytes of an unknown type can be kept, and no more is known. */
const ofKnown =
  (held: (tensor: GgufTensor, type: ElementType) => HeldTensor) =>
  (tensor: GgufTensor): HeldTensor =>
    tensor.type.element === undefined
      ? { form: `${tensor.type.name}, which no engine unpacks`, bytes: tensor.byteLength }
      : held(tensor, tensor.type.element);

const asStored = ({ byteLength }: GgufTensor, type: ElementType): HeldTensor => ({
  form: `${type}, as in the file`,
  bytes: byteLength,
});

function onMlx({ shape, elements, byteLength }: GgufTensor, type: ElementType): HeldTensor {
  const form = mlxWeightForm(type, shape.length);
  const words = form.kind === "same" ? `${type}, as in the file` : mlxFormText(form);
  return { form: form.kind === "f16" ? `${words}, unpacked` : words, bytes: mlxHeldBytes(form, elements, byteLength) };
}

/** A plain form of a packed type says that it is unpacked. */
const packageForm = (form: WeightForm, type: ElementType): string =>
  form.kind === "plain" && isPacked(type) ? `${formText(form)}, unpacked` : formText(form);

/** Where no graph can be made, the type alone decides, and the sentence says so. */
async function inPackage(model: OpenModel, { subject, phase }: HeldRequest, signal: AbortSignal): Promise<HeldWeights> {
  try {
    return inRoute(await routeOf(model, subject.target, phase, signal));
  } catch (error) {
    const { code, message } = toWireError(error);
    if (!(error instanceof WorkbenchError) || !/^(?:UNSUPPORTED|INPUT)_/u.test(code)) throw error;
    const target = planTarget(model, subject.target, phase);
    const [held, palette] = [heldFor(target), paletteOf(target)];
    return {
      sentence: `By their types alone, for ${subjectTitle(subject)} has no program of this model: ${message}`,
      of: ofKnown(({ shape, elements, byteLength }, type) => ({
        form: packageForm(storedForm({ type, shape }, target.profile, palette), type),
        bytes: held({ type, shape, elements, fileBytes: byteLength }),
      })),
    };
  }
}

const UNREAD = "not held: no operation of the program reads it";

function inRoute(route: Route): HeldWeights {
  const planned = new Map<string, PlannedWeight[]>();
  for (const weight of route.lowered?.plan.weights ?? []) {
    const tensor = weight.part?.tensor ?? weight.name;
    planned.set(tensor, [...(planned.get(tensor) ?? []), weight]);
  }
  const onHost = hostTensors(route);
  return {
    sentence: `Weights of the program for ${route.title}, as its package stores them.`,
    of: ofKnown((tensor, type) => {
      const weights = planned.get(tensor.name) ?? [];
      const parts = [
        ...(weights.length === 0 ? [] : [ofPackage(weights, type)]),
        ...(onHost.has(tensor.name)
          ? [{ form: `${type}, as in the file, for host code`, bytes: tensor.byteLength }]
          : []),
      ];
      return parts.length === 0
        ? { form: UNREAD, bytes: 0 }
        : { form: parts.map(({ form }) => form).join("; "), bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0) };
    }),
  };
}

/** What the program stores for one tensor: codes, scales and offsets of all its parts. */
function ofPackage(weights: readonly PlannedWeight[], type: ElementType): HeldTensor {
  const forms = [...new Set(weights.map(({ form }) => packageForm(form, type)))].join("; ");
  const bits = weights
    .flatMap(({ parts }) => parts)
    .reduce((sum, { dtype, shape }) => sum + MIL_DTYPES[dtype].bits * elementCount(shape), 0);
  return { form: weights.length === 1 ? forms : `${forms}, in ${weights.length} parts`, bytes: bits / 8 };
}

/** Tensors that parts outside of Core ML read. */
function hostTensors({ parts, graph }: Route): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { side, nodes } of parts) {
    if (side !== "host") continue;
    for (const id of nodes)
      for (const { node } of graph.nodes[id]?.inputs ?? []) {
        const from = graph.nodes[node];
        if (from?.op === "param") found.add(String(from.attrs["tensor"] ?? from.attrs["name"]));
      }
  }
  return found;
}
