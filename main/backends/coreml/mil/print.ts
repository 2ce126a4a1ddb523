/**
 * MIL's own text form, as compiled models show it: `tensor<fp16, [1, 64]> y = mul(x = x, y = c)[name = string("y")];`.
 * For people (Monaco) and for tests; long constants are shown by their first values.
 */
import type { MilBinding, MilConstant, MilFunction, MilNamed, MilOperation, MilProgram, MilType } from "./types.ts";
import { MIL_OPSETS } from "./types.ts";

/** Constants with more elements than this are cut, with the count said. */
const SHOWN_VALUES = 16;

export interface PrintedLine {
  readonly text: string;
  /** The operation a line shows, as (function, index); absent for braces and headers. */
  readonly operation?: readonly [functionName: string, index: number];
}

function typeText(type: MilType): string {
  const dims = type.shape.map((d) => (d === null ? "?" : String(d))).join(", ");
  const tensor =
    type.shape.length === 0 ? (type.dtype === "string" ? "string" : type.dtype) : `tensor<${type.dtype}, [${dims}]>`;
  return type.kind === "state" ? `state<${tensor}>` : tensor;
}

function numberText(value: number, dtype: string): string {
  if (dtype === "bool") return value === 0 ? "false" : "true";
  if (Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(7)));
}

function constantText(constant: MilConstant): string {
  const { type, data } = constant;
  const head = typeText(type);
  switch (data.kind) {
    case "blob":
      return `${head}(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(${data.offset})))`;
    case "text":
      return `string(${JSON.stringify(data.text)})`;
    case "numbers": {
      const values = Array.from({ length: Math.min(SHOWN_VALUES, data.values.length) }, (_, i) =>
        numberText(data.values[i] ?? 0, type.dtype),
      );
      const more = data.values.length > SHOWN_VALUES ? `, /* … ${data.values.length} values */` : "";
      return type.shape.length === 0 ? `${head}(${values.join("")})` : `${head}([${values.join(", ")}${more}])`;
    }
  }
}

const bindingText = (b: MilBinding): string => (b.kind === "name" ? b.name : constantText(b.value));

const argumentText = ([name, bindings]: MilOperation["inputs"][number]): string =>
  `${name} = ${bindings.length === 1 && bindings[0] !== undefined && name !== "values" ? bindingText(bindings[0]) : `(${bindings.map(bindingText).join(", ")})`}`;

const namedText = (value: MilNamed): string => `${typeText(value.type)} ${value.name}`;

export function operationText(op: MilOperation): string {
  const attributes = [
    `name = string(${JSON.stringify(op.name)})`,
    ...(op.value === undefined ? [] : [`val = ${constantText(op.value)}`]),
  ];
  const outputs = op.outputs.map(namedText).join(", ");
  return `${outputs}${outputs === "" ? "" : " = "}${op.type}(${op.inputs.map(argumentText).join(", ")})[${attributes.join(", ")}];`;
}

/** One line, and those of its blocks below it. */
function operationLines(op: MilOperation, indent: string): readonly string[] {
  if (op.blocks === undefined) return [`${indent}${operationText(op)}`];
  const blocks = op.blocks.flatMap((block, i) => [
    `${indent}    ${BLOCK_NAMES[op.type]?.[i] ?? "block"}(${block.inputs.map(namedText).join(", ")}) {`,
    ...block.operations.flatMap((inner) => operationLines(inner, `${indent}        `)),
    `${indent}    } -> (${block.outputs.join(", ")})`,
  ]);
  return [`${indent}${operationText(op).replace(/;$/, "")} {`, ...blocks, `${indent}};`];
}

const BLOCK_NAMES: Readonly<Record<string, readonly string[]>> = {
  cond: ["true", "false"],
  while_loop: ["condition", "body"],
};

function functionLines(f: MilFunction): PrintedLine[] {
  const inputs = f.inputs.map(namedText).join(", ");
  return [
    { text: `    func ${f.name}<ios${MIL_OPSETS[f.opset].ios}>(${inputs}) {` },
    ...f.operations.flatMap((op, i): readonly PrintedLine[] =>
      operationLines(op, "        ").map((text) => ({ text, operation: [f.name, i] })),
    ),
    { text: `    } -> (${f.outputs.join(", ")});` },
  ];
}

export function printLines(program: MilProgram): readonly PrintedLine[] {
  const info = Object.keys(program.buildInfo)
    .sort()
    .map((k) => `{${JSON.stringify(k)}, ${JSON.stringify(program.buildInfo[k] ?? "")}}`);
  return [
    { text: "program(1.0)" },
    ...(info.length > 0 ? [{ text: `[buildInfo = dict<string, string>({${info.join(", ")}})]` }] : []),
    { text: "{" },
    ...program.functions.flatMap(functionLines),
    { text: "}" },
  ];
}

export function printProgram(program: MilProgram): string {
  return `${printLines(program)
    .map((line) => line.text)
    .join("\n")}\n`;
}
