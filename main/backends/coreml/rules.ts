/**
 * Lowering recipes that op files share: each returns the `coreml` entry of an op definition.
 * `when` answers for one node: true, or why Core ML cannot run it.
 */
import { dtypeBytes, isFloat as isFloatType, isInteger, isPacked } from "../../ir/dtype.ts";
import type { TensorType } from "../../ir/type.ts";
import { versionOf } from "./mil/opTable.ts";
import type { CoremlRule, MilArgs, MilOpName, MilValue, RuleNode } from "./emitter.ts";

type One = readonly [MilValue];
type Two = readonly [MilValue, MilValue];

/** Operators of one argument `x` and nothing else. */
type UnaryName = { [N in MilOpName]: Record<"x", MilValue> extends MilArgs[N] ? N : never }[MilOpName];
type BinaryName = { [N in MilOpName]: Record<"x" | "y", MilValue> extends MilArgs[N] ? N : never }[MilOpName];

/** MIL tensors have at most five dimensions. */
export const MAX_RANK = 5;

/** Limits that hold for every operator: rank, empty tensors, and element types that Core ML has no arithmetic for. */
export function generalLimits(node: RuleNode<unknown>): true | string {
  for (const type of [...node.inputs, ...node.outputs]) {
    if (type.shape.length > MAX_RANK)
      return `Core ML tensors have at most ${MAX_RANK} dimensions, this one has ${type.shape.length}`;
    if (type.shape.includes(0)) return "Core ML has no tensors without elements";
    if (type.dtype === "c64") return "Core ML has no complex numbers";
    if (type.dtype === "f64") return "Core ML has no float64 arithmetic";
    if (type.dtype === "i64" || type.dtype === "u32") return `Core ML has no ${type.dtype} arithmetic`;
  }
  return true;
}

/** For what can leave its type: whole numbers shorter than Core ML's own would go on counting in int32. */
export function wrapsAsInt32<Attrs>(node: RuleNode<Attrs>): true | string {
  const narrow = node.outputs.find(({ dtype }) => !isPacked(dtype) && isInteger(dtype) && dtypeBytes(dtype) < 4);
  return narrow === undefined
    ? true
    : `Core ML holds whole numbers as int32, which does not wrap at the size of ${narrow.dtype}`;
}

const firstReason = (...answers: readonly (true | string)[]): true | string => answers.find((a) => a !== true) ?? true;

/** Whole numbers where the operator's own table allows int32. */
function numbersFor(what: UnaryName, type: TensorType | undefined): true | string {
  if (type === undefined || isFloatType(type.dtype) || isPacked(type.dtype)) return true;
  const argument = versionOf(what, "CoreML9")?.args.find((a) => a.name === "x");
  const wanted = type.dtype === "bool" ? "bool" : "int32";
  return argument?.types?.includes(wanted) === true
    ? true
    : `Core ML's ${what} takes floats, this operand is ${type.dtype}`;
}

/** `milUnary("sin")`: one operator on one float operand. */
export const milUnary = (type: UnaryName): CoremlRule<One, unknown> => ({
  kind: "native",
  emit: (e, [x]) => e.op(type, { x }),
  when: (node) =>
    firstReason(generalLimits(node), numbersFor(type, node.inputs[0]), type === "abs" ? wrapsAsInt32(node) : true),
});

/** `milBinary("add")`: element-wise with NumPy broadcasting, both operands of one type. */
export const milBinary = (type: BinaryName): CoremlRule<Two, unknown> => ({
  kind: "native",
  emit: (e, [x, y]) => e.op(type, { x, y }),
  when: (node) => {
    const boolean = node.inputs.some((t) => t.dtype === "bool") && !type.startsWith("logical_");
    return firstReason(
      generalLimits(node),
      boolean ? `${type} takes numbers, this operand is bool: cast first` : true,
      type === "maximum" || type === "minimum" ? true : wrapsAsInt32(node),
    );
  },
});

/** `e => …` with the limits that every operator has, and more of one's own. */
export const milNative = <Inputs, Attrs>(
  emit: CoremlRule<Inputs, Attrs>["emit"],
  when: (node: RuleNode<Attrs>) => true | string = () => true,
): CoremlRule<Inputs, Attrs> => ({
  kind: "native",
  emit,
  when: (node) => firstReason(generalLimits(node), when(node)),
});
