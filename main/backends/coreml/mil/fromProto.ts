/**
 * A MIL program read back from protobuf messages. A package is a file like any other: what is missing, doubled or of
 * the wrong size ends in INPUT_MALFORMED with the place, never in a wrong number later.
 */
import { WorkbenchError } from "../../../diagnostics/errors.ts";
import type { CoreML } from "../generated/proto.js";
import { f16ToF32Array } from "../../../quant/half.ts";
import { unpackBits } from "./bits.ts";
import type {
  MilBinding,
  MilBlock,
  MilConstant,
  MilDim,
  MilDtype,
  MilFunction,
  MilNamed,
  MilOperation,
  MilOpset,
  MilProgram,
  MilTensorType,
  MilType,
} from "./types.ts";
import { MIL_DTYPES, MIL_OPSETS, elementCount, packedByteLength, tensorType } from "./types.ts";

export function malformed(where: string, what: string): never {
  throw new WorkbenchError("INPUT_MALFORMED", `[mlpackage] ${where}: ${what}`, { hint: "Export the model again." });
}

const BY_NUMBER = new Map<number, MilDtype>(
  (Object.keys(MIL_DTYPES) as MilDtype[]).map((d) => [MIL_DTYPES[d].proto, d]),
);

function dtypeOf(number: number | null | undefined, where: string): MilDtype {
  return BY_NUMBER.get(number ?? 0) ?? malformed(where, `element type number ${number ?? 0} is not known`);
}

function tensorFrom(message: CoreML.Specification.MILSpec.TensorType.$Properties, where: string): MilTensorType {
  const dimensions = message.dimensions ?? [];
  if (Number(message.rank ?? 0) !== dimensions.length)
    malformed(where, `rank ${Number(message.rank ?? 0)} with ${dimensions.length} dimensions`);
  const shape = dimensions.map((d): MilDim => {
    if (d.unknown !== null && d.unknown !== undefined) return null;
    const size = Number(d.constant?.size ?? 0);
    return Number.isSafeInteger(size) && size >= 0 ? size : malformed(where, `dimension ${size}`);
  });
  return tensorType(dtypeOf(message.dataType, where), shape);
}

export function typeFrom(
  message: CoreML.Specification.MILSpec.ValueType.$Properties | null | undefined,
  where: string,
): MilType {
  if (message?.tensorType) return tensorFrom(message.tensorType, where);
  const wrapped = message?.stateType?.wrappedType?.tensorType;
  if (!wrapped) return malformed(where, "a type that is neither a tensor nor a state");
  const { dtype, shape } = tensorFrom(wrapped, where);
  const fixed = shape.map((d) => d ?? malformed(where, "a state with an unknown dimension"));
  return { kind: "state", dtype, shape: fixed };
}

/** Packed little-endian bytes → numbers. */
export function unpackValues(dtype: MilDtype, count: number, bytes: Uint8Array): ArrayLike<number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (dtype) {
    case "fp16":
      return f16ToF32Array(Uint16Array.from({ length: count }, (_, i) => view.getUint16(2 * i, true)));
    case "fp32":
      return Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 * i, true));
    case "int32":
      return Int32Array.from({ length: count }, (_, i) => view.getInt32(4 * i, true));
    case "uint32":
      return Uint32Array.from({ length: count }, (_, i) => view.getUint32(4 * i, true));
    case "int16":
      return Int16Array.from({ length: count }, (_, i) => view.getInt16(2 * i, true));
    case "uint16":
      return Uint16Array.from({ length: count }, (_, i) => view.getUint16(2 * i, true));
    case "int8":
      return new Int8Array(bytes.slice(0, count).buffer);
    case "uint8":
    case "bool":
      return bytes.slice(0, count);
    case "string":
      return [];
    default:
      return unpackBits(MIL_DTYPES[dtype].bits, count, bytes, dtype === "int4");
  }
}

function immediateFrom(
  message: CoreML.Specification.MILSpec.TensorValue.$Properties,
  type: MilTensorType,
  where: string,
): MilConstant {
  const count = elementCount(type.shape);
  if (message.strings) {
    const [only] = message.strings.values ?? [];
    return type.dtype === "string" && only !== undefined
      ? { type, data: { kind: "text", text: only } }
      : malformed(where, "a string of another type");
  }
  if (message.bytes) {
    const bytes = message.bytes.values ?? new Uint8Array(0);
    if (bytes.length !== packedByteLength(type.dtype, count))
      malformed(where, `${bytes.length} bytes for ${count} elements of ${type.dtype}`);
    return { type, data: { kind: "numbers", values: unpackValues(type.dtype, count, bytes) } };
  }
  const values = message.floats?.values ?? message.ints?.values ?? message.bools?.values?.map(Number);
  if (values === undefined || values === null)
    return malformed(where, "a value of a kind that MIL programs do not use");
  if (values.length !== count) malformed(where, `${values.length} values for ${count} elements`);
  return { type, data: { kind: "numbers", values } };
}

function constantFrom(message: CoreML.Specification.MILSpec.Value.$Properties, where: string): MilConstant {
  const type = typeFrom(message.type, where);
  if (type.kind !== "tensor") return malformed(where, "a constant that is not a tensor");
  if (message.blobFileValue) {
    const file = message.blobFileValue.fileName ?? "";
    if (!file.endsWith("/weights/weight.bin") || file.includes(".."))
      malformed(where, `weights in ${JSON.stringify(file.slice(0, 80))}, expected @model_path/weights/weight.bin`);
    return { type, data: { kind: "blob", offset: Number(message.blobFileValue.offset ?? 0) } };
  }
  const tensor = message.immediateValue?.tensor;
  return tensor ? immediateFrom(tensor, type, where) : malformed(where, "a constant without a value");
}

const namedFrom = (message: CoreML.Specification.MILSpec.NamedValueType.$Properties, where: string): MilNamed => {
  const name = message.name ?? malformed(where, "a value without a name");
  return { name, type: typeFrom(message.type, `${where}/${name}`) };
};

function bindingFrom(message: CoreML.Specification.MILSpec.Argument.Binding.$Properties, where: string): MilBinding {
  if (message.value) return { kind: "value", value: constantFrom(message.value, where) };
  return message.name ? { kind: "name", name: message.name } : malformed(where, "an empty argument");
}

/** Blocks in blocks: a file can nest them as deep as it likes. */
const DEEPEST = 32;

/** Operators with blocks, and how many. */
const BLOCKS: Readonly<Record<string, number>> = { cond: 2, while_loop: 2 };

function blocksFrom(
  message: CoreML.Specification.MILSpec.Operation.$Properties,
  where: string,
  depth: number,
): readonly MilBlock[] {
  const type = message.type ?? "";
  const blocks = message.blocks ?? [];
  const wanted = Object.hasOwn(BLOCKS, type) ? (BLOCKS[type] ?? 0) : 0;
  if (blocks.length !== wanted) malformed(where, `${type} has ${blocks.length} inner blocks, expected ${wanted}`);
  if (depth >= DEEPEST) malformed(where, `blocks are nested deeper than ${DEEPEST}`);
  return blocks.map((block) => ({
    inputs: (block.inputs ?? []).map((input) => namedFrom(input, where)),
    operations: (block.operations ?? []).map((op) => operationFrom(op, where, depth + 1)),
    outputs: block.outputs ?? [],
  }));
}

function operationFrom(
  message: CoreML.Specification.MILSpec.Operation.$Properties,
  owner: string,
  depth = 0,
): MilOperation {
  const type = message.type ?? "";
  const outputs = (message.outputs ?? []).map((o) => namedFrom(o, owner));
  const where = `${owner}/${outputs[0]?.name ?? type}`;
  const blocks = blocksFrom(message, where, depth);
  const inputs = Object.entries(message.inputs ?? {}).map(([argument, given]): MilOperation["inputs"][number] => [
    argument,
    (given.arguments ?? []).map((b) => bindingFrom(b, `${where}.${argument}`)),
  ]);
  // Operands of constant expressions are attributes before CoreML8.
  if (type.startsWith("constexpr_"))
    for (const [argument, given] of Object.entries(message.attributes ?? {}))
      if (argument !== "name")
        inputs.push([argument, [{ kind: "value", value: constantFrom(given, `${where}.${argument}`) }]]);
  const label = message.attributes?.["name"];
  const named = label ? constantFrom(label, where).data : undefined;
  const value = message.attributes?.["val"];
  if (type === "const" && !value) malformed(where, "const without a value");
  return {
    type,
    name: named?.kind === "text" ? named.text : (outputs[0]?.name ?? type),
    inputs,
    outputs,
    ...(value ? { value: constantFrom(value, where) } : {}),
    ...(blocks.length > 0 ? { blocks } : {}),
    origins: [],
  };
}

/** Every name defined once in the whole function and before its use; what a block makes is seen in it only; outputs defined. */
function checkScope(f: MilFunction): void {
  const taken = new Set<string>();
  const define = (name: string, scope: Set<string>): void => {
    if (taken.has(name)) malformed(`${f.name}/${name}`, "defined twice");
    taken.add(name);
    scope.add(name);
  };
  const walk = (block: MilBlock, outer: ReadonlySet<string>): void => {
    const seen = new Set(outer);
    for (const input of block.inputs) define(input.name, seen);
    for (const op of block.operations) {
      for (const [argument, bindings] of op.inputs)
        for (const b of bindings)
          if (b.kind === "name" && !seen.has(b.name))
            malformed(`${f.name}/${op.name}.${argument}`, `${b.name} is used before it is made`);
      for (const inner of op.blocks ?? []) walk(inner, seen);
      for (const output of op.outputs) define(output.name, seen);
    }
    for (const output of block.outputs) if (!seen.has(output)) malformed(f.name, `output ${output} is not made`);
  };
  walk(f, new Set());
}

function functionFrom(name: string, message: CoreML.Specification.MILSpec.Function.$Properties): MilFunction {
  const opset = message.opset ?? "";
  if (!Object.hasOwn(MIL_OPSETS, opset)) malformed(name, `opset ${JSON.stringify(opset)} is not known`);
  const block = message.block_specializations?.[opset];
  if (!block) return malformed(name, `no body for ${opset}`);
  const f: MilFunction = {
    name,
    opset: opset as MilOpset,
    inputs: (message.inputs ?? []).map((i) => namedFrom(i, name)),
    operations: (block.operations ?? []).map((op) => operationFrom(op, name)),
    outputs: block.outputs ?? [],
  };
  checkScope(f);
  return f;
}

export function programFrom(message: CoreML.Specification.MILSpec.Program.$Properties): MilProgram {
  if (Number(message.version ?? 0) !== 1) malformed("program", `version ${Number(message.version ?? 0)}, expected 1`);
  const info: Record<string, string> = {};
  for (const pair of message.attributes?.["buildInfo"]?.immediateValue?.dictionary?.values ?? []) {
    const [key] = pair.key?.immediateValue?.tensor?.strings?.values ?? [];
    const [value] = pair.value?.immediateValue?.tensor?.strings?.values ?? [];
    if (key !== undefined && key !== "__proto__") info[key] = value ?? "";
  }
  return {
    functions: Object.entries(message.functions ?? {}).map(([name, f]) => functionFrom(name, f)),
    buildInfo: info,
  };
}
