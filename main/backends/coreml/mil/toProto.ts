/** A MIL program as protobuf messages: how each value, type and operator is written. */
import { invariant } from "../../../diagnostics/errors.ts";
import type { Steps } from "../../../ir/steps.ts";
import { CoreML } from "../generated/proto.js";
import { f32ToF16Array } from "../../../quant/half.ts";
import { packBits } from "./bits.ts";
import type {
  MilBinding,
  MilConstant,
  MilDim,
  MilDtype,
  MilFunction,
  MilNamed,
  MilOperation,
  MilOpset,
  MilProgram,
  MilType,
} from "./types.ts";
import { MIL_DTYPES, MIL_OPSETS, tensorType } from "./types.ts";

type ValueMessage = CoreML.Specification.MILSpec.Value.$Properties;
type TypeMessage = CoreML.Specification.MILSpec.ValueType.$Properties;
type TensorMessage = CoreML.Specification.MILSpec.TensorType.$Properties;

/** Where every blob reference points. */
export const BLOB_FILE = "@model_path/weights/weight.bin";

const dimension = (dim: MilDim): CoreML.Specification.MILSpec.Dimension.$Properties =>
  dim === null ? { unknown: { variadic: false } } : { constant: { size: dim } };

const tensorMessage = (dtype: MilDtype, shape: readonly MilDim[]): TensorMessage => ({
  dataType: MIL_DTYPES[dtype].proto,
  rank: shape.length,
  dimensions: shape.map(dimension),
});

export function typeMessage(type: MilType): TypeMessage {
  const tensor: TypeMessage = { tensorType: tensorMessage(type.dtype, type.shape) };
  return type.kind === "state" ? { stateType: { wrappedType: tensor } } : tensor;
}

/** Little-endian packed bytes of a constant whose element type has no list of its own in the schema. */
function packBytes(dtype: MilDtype, values: ArrayLike<number>): Uint8Array {
  switch (dtype) {
    case "fp16":
      return bytesOf(f32ToF16Array(values));
    case "int8":
    case "uint8":
      return Uint8Array.from(values, (v) => v & 0xff);
    case "uint32":
      return bytesOf(Uint32Array.from(values));
    default:
      return packBits(MIL_DTYPES[dtype].bits, values);
  }
}

const bytesOf = (array: Uint16Array | Uint32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

function tensorValue(constant: MilConstant): CoreML.Specification.MILSpec.TensorValue.$Properties {
  const { data, type } = constant;
  if (data.kind === "text") return { strings: { values: [data.text] } };
  invariant(data.kind === "numbers", "a blob is not an immediate value");
  const values = Array.from(data.values);
  switch (type.dtype) {
    case "fp32":
      return { floats: { values } };
    case "int32":
    case "int16":
    case "uint16":
      return { ints: { values } };
    case "bool":
      return { bools: { values: values.map((v) => v !== 0) } };
    default:
      return { bytes: { values: packBytes(type.dtype, values) } };
  }
}

export function valueMessage(constant: MilConstant): ValueMessage {
  const { data } = constant;
  const type = typeMessage(constant.type);
  if (data.kind === "blob") return { type, blobFileValue: { fileName: BLOB_FILE, offset: data.offset } };
  return { type, immediateValue: { tensor: tensorValue(constant) } };
}

const text = (value: string): ValueMessage =>
  valueMessage({ type: tensorType("string", []), data: { kind: "text", text: value } });

const named = (value: MilNamed): CoreML.Specification.MILSpec.NamedValueType.$Properties => ({
  name: value.name,
  type: typeMessage(value.type),
});

const binding = (b: MilBinding): CoreML.Specification.MILSpec.Argument.Binding.$Properties =>
  b.kind === "name" ? { name: b.name } : { value: valueMessage(b.value) };

/** Before CoreML8 the operands of constant expressions are attributes. */
const takesAttributes = (op: MilOperation, opset: MilOpset): boolean =>
  op.type.startsWith("constexpr_") && MIL_OPSETS[opset].ios < MIL_OPSETS.CoreML8.ios;

function operationMessage(op: MilOperation, opset: MilOpset): CoreML.Specification.MILSpec.Operation.$Properties {
  const inputs: Record<string, CoreML.Specification.MILSpec.Argument.$Properties> = {};
  const attributes: Record<string, ValueMessage> = { name: text(op.name) };
  for (const [argument, bindings] of op.inputs) {
    const [only] = bindings;
    if (!takesAttributes(op, opset)) inputs[argument] = { arguments: bindings.map(binding) };
    else if (only?.kind === "value") attributes[argument] = valueMessage(only.value);
    else invariant(false, `${op.type}: ${argument} is not a value`);
  }
  if (op.value !== undefined) attributes["val"] = valueMessage(op.value);
  const blocks = op.blocks?.map((block) => ({
    inputs: block.inputs.map(named),
    outputs: [...block.outputs],
    operations: block.operations.map((inner) => operationMessage(inner, opset)),
  }));
  return { type: op.type, inputs, outputs: op.outputs.map(named), attributes, ...(blocks ? { blocks } : {}) };
}

/** The `buildInfo` dictionary, the only program attribute that tools accept. */
function buildInfo(pairs: Readonly<Record<string, string>>): ValueMessage {
  const string: TypeMessage = { tensorType: tensorMessage("string", []) };
  return {
    type: { dictionaryType: { keyType: string, valueType: string } },
    immediateValue: {
      dictionary: {
        values: Object.keys(pairs)
          .sort()
          .map((key) => ({ key: text(key), value: text(pairs[key] ?? "") })),
      },
    },
  };
}

/** Operators between two pauses. */
const SLICE = 256;
/** The tag of a field that holds a message, text or bytes. */
const held = (field: number): number => field * 8 + 2;

function* blockBytes(f: MilFunction): Steps<Uint8Array> {
  const { Block, Operation } = CoreML.Specification.MILSpec;
  const writer = Block.encode({ outputs: [...f.outputs] });
  for (const [i, op] of f.operations.entries()) {
    if (i % SLICE === 0) yield;
    Operation.encode(operationMessage(op, f.opset), writer.uint32(held(3)).fork()).ldelim();
  }
  return writer.finish();
}

/**
 * Encodes operator by operator, so that other work can run between slices. Fields are in the order
 * of their numbers, as in the generated encoder.
 */
export function* programBytes(program: MilProgram): Steps<Uint8Array> {
  const { Function, Program } = CoreML.Specification.MILSpec;
  const writer = Program.encode({ version: 1 });
  for (const f of program.functions) {
    const body = Function.encode({ inputs: f.inputs.map(named), opset: f.opset });
    const block = yield* blockBytes(f);
    body.uint32(held(3)).fork().uint32(held(1)).string(f.opset).uint32(held(2)).bytes(block).ldelim();
    writer.uint32(held(2)).fork().uint32(held(1)).string(f.name).uint32(held(2)).bytes(body.finish()).ldelim();
  }
  if (Object.keys(program.buildInfo).length > 0)
    Program.encode({ attributes: { buildInfo: buildInfo(program.buildInfo) } }, writer);
  return writer.finish();
}
