/**
 * What a model tells the world: inputs, outputs and states of each function, with flexible shapes, as plain data
 * and as protobuf. The rules are Core ML's own (feature types, flexibility, states, several functions).
 */
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { FeatureInfo, Flexibility, FunctionInterface, ModelMetadata } from "./features.ts";
import type { CoreML } from "./generated/proto.js";
import { malformed } from "./mil/fromProto.ts";
import type { MilDtype, MilFunction, MilNamed, MilOpset } from "./mil/types.ts";
import { MIL_OPSETS } from "./mil/types.ts";

type Feature = CoreML.Specification.FeatureDescription.$Properties;
type ArrayFeature = CoreML.Specification.ArrayFeatureType.$Properties;

const ARRAY_DTYPES: { readonly [D in MilDtype]?: number } = { fp16: 65552, fp32: 65568, int32: 131104, int8: 131080 };
const MAX_ENUMERATED = 128;

function arrayDtype(name: string, dtype: MilDtype, opset: MilOpset): number {
  const version = MIL_OPSETS[opset].specificationVersion;
  const number = ARRAY_DTYPES[dtype];
  if (number === undefined || (dtype === "fp16" && version < 7) || (dtype === "int8" && version < 10))
    throw new WorkbenchError("UNSUPPORTED_TARGET", `[${name}] ${dtype} cannot be a model input or output in ${opset}`, {
      hint: "Cast it to fp16, fp32 or int32 inside the function.",
    });
  return number;
}

function flexibleMessage(name: string, shape: readonly number[], flexible: Flexibility): ArrayFeature {
  const reject = (what: string): never => {
    throw new WorkbenchError("INPUT_ARGUMENT", `[${name}] ${what}`);
  };
  if (flexible.kind === "enumerated") {
    const { shapes } = flexible;
    if (shapes.length === 0 || shapes.length > MAX_ENUMERATED)
      reject(`${shapes.length} enumerated shapes, allowed 1..${MAX_ENUMERATED}`);
    if (!shapes.some((s) => s.join() === shape.join()))
      reject(`the default shape [${shape.join()}] is not among the enumerated ones`);
    if (shapes.some((s) => s.length !== shape.length)) reject("enumerated shapes differ in rank");
    return { enumeratedShapes: { shapes: shapes.map((s) => ({ shape: [...s] })) } };
  }
  flexible.sizes.forEach(([lower, upper], i) => {
    const size = shape[i] ?? -1;
    if (!(lower <= size && size <= upper)) reject(`the default size ${size} is outside ${lower}..${upper}`);
  });
  if (flexible.sizes.length !== shape.length) reject("range and shape differ in rank");
  return { shapeRange: { sizeRanges: flexible.sizes.map(([lowerBound, upperBound]) => ({ lowerBound, upperBound })) } };
}

function arrayMessage(feature: FeatureInfo, opset: MilOpset): ArrayFeature {
  return {
    shape: [...feature.shape],
    dataType: arrayDtype(feature.name, feature.dtype, opset),
    ...(feature.flexible === undefined ? {} : flexibleMessage(feature.name, feature.shape, feature.flexible)),
  };
}

const tensorFeature = (feature: FeatureInfo, opset: MilOpset): Feature => ({
  name: feature.name,
  ...(feature.description === undefined ? {} : { shortDescription: feature.description }),
  type: { multiArrayType: arrayMessage(feature, opset) },
});

const stateFeature = (feature: FeatureInfo, opset: MilOpset): Feature => ({
  name: feature.name,
  type: { stateType: { arrayType: arrayMessage(feature, opset) } },
});

/** The features of a function, from its MIL inputs and outputs; `flexible` by input name. */
export function interfaceOf(f: MilFunction, flexible: Readonly<Record<string, Flexibility>> = {}): FunctionInterface {
  const defaultSizes = (name: string): readonly number[] => {
    const given = flexible[name];
    if (given === undefined) return [];
    return given.kind === "enumerated" ? (given.shapes[0] ?? []) : given.sizes.map(([lower]) => lower);
  };
  const info = (value: MilNamed): FeatureInfo => ({
    name: value.name,
    dtype: value.type.dtype,
    shape: value.type.shape.map((d, i) => d ?? defaultSizes(value.name)[i] ?? 0),
    ...(flexible[value.name] === undefined ? {} : { flexible: flexible[value.name] as Flexibility }),
  });
  const types = new Map(f.operations.flatMap((op) => op.outputs.map((o) => [o.name, o] as const)));
  const outputs = f.outputs.map((name): FeatureInfo => {
    const value = types.get(name) ?? f.inputs.find((i) => i.name === name);
    if (value === undefined) throw new WorkbenchError("BUG_INVARIANT", `[${f.name}] output ${name} is not made`);
    const fixed = value.type.shape.every((d) => d !== null);
    return { name, dtype: value.type.dtype, shape: fixed ? value.type.shape.map(Number) : [] };
  });
  return {
    name: f.name,
    inputs: f.inputs.filter((i) => i.type.kind === "tensor").map(info),
    outputs,
    states: f.inputs.filter((i) => i.type.kind === "state").map(info),
  };
}

/** One function: its features at the top. Several: a list, and the top stays empty. */
export function descriptionMessage(
  functions: readonly FunctionInterface[],
  defaultFunction: string,
  opset: MilOpset,
  metadata: ModelMetadata,
): CoreML.Specification.ModelDescription.$Properties {
  const features = (
    f: FunctionInterface,
  ): Required<Pick<CoreML.Specification.ModelDescription.$Properties, "input" | "output" | "state">> => ({
    input: f.inputs.map((i) => tensorFeature(i, opset)),
    output: f.outputs.map((o) => tensorFeature(o, opset)),
    state: f.states.map((s) => stateFeature(s, opset)),
  });
  const version = MIL_OPSETS[opset].specificationVersion;
  if (version < 9 && (functions.length > 1 || functions.some((f) => f.states.length > 0)))
    throw new WorkbenchError("UNSUPPORTED_TARGET", `[${opset}] states and several functions need CoreML8`, {
      hint: "Choose macOS 15 or later as the target.",
    });
  const [only] = functions;
  const described =
    functions.length === 1 && only !== undefined
      ? features(only)
      : { functions: functions.map((f) => ({ name: f.name, ...features(f) })), defaultFunctionName: defaultFunction };
  return {
    ...described,
    metadata: {
      shortDescription: metadata.shortDescription,
      versionString: metadata.version,
      author: metadata.author,
      license: metadata.license,
      userDefined: Object.fromEntries(Object.entries(metadata.userDefined).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

const DTYPE_OF = new Map<number, MilDtype>(
  (Object.keys(ARRAY_DTYPES) as MilDtype[]).map((d) => [ARRAY_DTYPES[d] ?? 0, d]),
);

function featureFrom(message: Feature, where: string): FeatureInfo {
  const name = message.name ?? malformed(where, "a feature without a name");
  const array = message.type?.multiArrayType ?? message.type?.stateType?.arrayType;
  if (!array) return malformed(`${where}/${name}`, "a feature that is not an array");
  const dtype = DTYPE_OF.get(array.dataType ?? 0) ?? malformed(`${where}/${name}`, `array type ${array.dataType ?? 0}`);
  const shape = (array.shape ?? []).map(Number);
  const enumerated = array.enumeratedShapes?.shapes?.map((s) => (s.shape ?? []).map(Number));
  const range = array.shapeRange?.sizeRanges?.map(
    (r) => [Number(r.lowerBound ?? 0), Number(r.upperBound ?? 0)] as const,
  );
  const flexible: Flexibility | undefined = enumerated
    ? { kind: "enumerated", shapes: enumerated }
    : range
      ? { kind: "range", sizes: range }
      : undefined;
  return { name, dtype, shape, ...(flexible === undefined ? {} : { flexible }) };
}

/** Functions as described; a single-function model comes back under the name `main`. */
export function interfacesFrom(
  message: CoreML.Specification.ModelDescription.$Properties,
): readonly FunctionInterface[] {
  const one = (name: string, m: CoreML.Specification.FunctionDescription.$Properties): FunctionInterface => ({
    name,
    inputs: (m.input ?? []).map((f) => featureFrom(f, name)),
    outputs: (m.output ?? []).map((f) => featureFrom(f, name)),
    states: (m.state ?? []).map((f) => featureFrom(f, name)),
  });
  const functions = message.functions ?? [];
  return functions.length === 0
    ? [one("main", message)]
    : functions.map((f) => one(f.name ?? malformed("description", "a function without a name"), f));
}
