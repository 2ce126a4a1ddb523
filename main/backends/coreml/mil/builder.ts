/**
 * Builds a MIL function operator by operator, each checked against the operator table: arguments known and complete,
 * element types allowed, shared type letters equal, constants constant. Every optional argument that has a default is
 * written out (Core ML itself wants them), and equal operators on equal operands are made once.
 */
import { WorkbenchError, invariant } from "../../../diagnostics/errors.ts";
import { EMITTED_OPS, inferOutputs } from "./infer.ts";
import type { NameTable } from "./names.ts";
import type { MilArgs, MilOpName } from "./ops.generated.ts";
import { requireVersion } from "./opTable.ts";
import { indexWorkFirst } from "./schedule.ts";
import type {
  MilArgument,
  MilBinding,
  MilBlock,
  MilConstant,
  MilDtype,
  MilFallback,
  MilFunction,
  MilNamed,
  MilOperation,
  MilOpset,
  MilOpVersion,
  MilTensorType,
  MilType,
  MilValue,
} from "./types.ts";
import { elementCount, isFloat, tensorType, typeText } from "./types.ts";

type Literal = number | boolean | string | readonly number[] | readonly boolean[];
type Given = MilValue | Literal | readonly MilValue[] | undefined;

/** Constants up to this size keep their data for shape inference and folding of equal ones. */
const SMALL_CONSTANT = 64;

const isValue = (given: unknown): given is MilValue =>
  typeof given === "object" && given !== null && "constness" in given;
const isValueList = (given: Given): given is readonly MilValue[] =>
  Array.isArray(given) && given.length > 0 && isValue(given[0]);

/** Resolved arguments of one operator, by name. */
export type Resolved = ReadonlyMap<string, readonly MilValue[]>;

export type ConstexprName = Extract<MilOpName, `constexpr_${string}`>;
/** Operators without a rule in `infer.ts`: each has a method of its own here. */
const OWN_OPS = ["const", "cond", "while_loop", "write_state"] as const;
type OwnOp = (typeof OWN_OPS)[number];
/** What `op` makes; constexprs have a method of their own too. */
export type BuildableOp = Exclude<MilOpName, ConstexprName | OwnOp>;
/** Everything that a built program can hold. */
export const BUILT_OPS: readonly string[] = [...EMITTED_OPS, ...OWN_OPS];

/** A block while its operator is not made yet. */
export interface BuiltBlock extends MilBlock {
  readonly types: readonly MilTensorType[];
}

const milValue = (name: string, type: MilType, constness: MilValue["constness"], constant?: MilConstant): MilValue => ({
  name,
  type,
  constness,
  bindings: [{ kind: "name", name }],
  ...(constant === undefined ? {} : { constant }),
});

/** What an operator is called with: equal keys compute the same. */
function callKey(type: string, resolved: Resolved): string {
  let key: string = type;
  for (const [argument, values] of resolved) {
    key += `;${argument}`;
    for (const value of values) key += `,${value.name}`;
  }
  return key;
}

const bindingsOf = (values: readonly MilValue[]): readonly MilBinding[] => {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only.bindings : values.flatMap((v) => v.bindings);
};

export class MilFunctionBuilder {
  readonly name: string;
  readonly opset: MilOpset;
  readonly #names: NameTable;
  readonly #inputs: MilNamed[] = [];
  #operations: MilOperation[] = [];
  readonly #outputs: string[] = [];
  #constants = new Map<string, MilValue>();
  #made = new Map<string, readonly MilValue[]>();
  #literals = new Map<string, MilValue>();
  readonly #reserved = new Map<string, string>();
  #origins: readonly number[] = [];
  #label = "";

  constructor(name: string, opset: MilOpset, names: NameTable) {
    this.name = name;
    this.opset = opset;
    this.#names = names;
  }

  /** Operators made by `build` remember these IR nodes and take names from the label. */
  from<T>(origins: readonly number[], label: string, build: () => T): T {
    const [oldOrigins, oldLabel] = [this.#origins, this.#label];
    this.#origins = origins;
    this.#label = label;
    try {
      return build();
    } finally {
      this.#origins = oldOrigins;
      this.#label = oldLabel;
    }
  }

  /** A function input or state; its name is part of the model's interface and stays as wished or fails. */
  input(wish: string, type: MilType): MilValue {
    const name = this.#names.claim(wish);
    this.#inputs.push({ name, type });
    return milValue(name, type, "no");
  }

  /** Keeps the name of a later output free of other uses. */
  reserveOutput(wish: string): void {
    this.#reserved.set(wish, this.#names.claim(wish));
  }

  /** Makes a value a function output under a name of its own (an `identity` where needed). */
  output(wish: string, value: MilValue): string {
    invariant(value.type.kind === "tensor", `output ${wish} is a state`);
    const type = value.type;
    const name = this.#reserved.get(wish) ?? this.#names.claim(wish);
    this.#reserved.delete(wish);
    this.#operations.push(this.#operation("identity", name, [["x", value.bindings]], [{ name, type }]));
    this.#outputs.push(name);
    return name;
  }

  finish(): MilFunction {
    const operations = indexWorkFirst(this.#inputs, this.#operations);
    return { name: this.name, opset: this.opset, inputs: this.#inputs, operations, outputs: this.#outputs };
  }

  op<N extends BuildableOp>(type: N, args: MilArgs[N]): MilValue {
    const outputs = this.ops(type, args);
    const [only] = outputs;
    if (only === undefined || outputs.length !== 1)
      throw new WorkbenchError("BUG_INVARIANT", `[${type}] has ${outputs.length} outputs, expected one`);
    return only;
  }

  ops<N extends BuildableOp>(type: N, args: MilArgs[N]): readonly MilValue[] {
    const version = requireVersion(type, this.opset);
    const resolved = this.#resolve(type, version, args);
    checkDomains(type, version, resolved);
    const key = callKey(type, resolved);
    const known = type === "read_state" ? undefined : this.#made.get(key);
    if (known !== undefined) return known;
    const wish = this.#label === "" ? type : `${this.#label}_${type}`;
    const outputs = inferOutputs(type, resolved).map((t) => milValue(this.#names.claim(wish), t, "no"));
    const bindings: (readonly [string, readonly MilBinding[]])[] = [];
    for (const [argument, values] of resolved) bindings.push([argument, bindingsOf(values)]);
    this.#operations.push(this.#operation(type, outputs[0]?.name ?? wish, bindings, outputs));
    this.#made.set(key, outputs);
    return outputs;
  }

  /**
   * A block of `cond` or `while_loop`: what `build` makes stays inside; it may read what stands outside. Each output is a value of
   * the block's own.
   */
  block(
    inputs: readonly { readonly wish: string; readonly type: MilTensorType }[],
    build: (values: readonly MilValue[]) => readonly MilValue[],
  ): BuiltBlock {
    const outer = [this.#operations, this.#constants, this.#made, this.#literals] as const;
    this.#operations = [];
    this.#constants = new Map(outer[1]);
    this.#made = new Map(outer[2]);
    this.#literals = new Map(outer[3]);
    const named = inputs.map(({ wish, type }): MilNamed => ({ name: this.#names.claim(wish), type }));
    const results = build(named.map(({ name, type }) => milValue(name, type, "no")));
    const outputs = results.map((value) => {
      invariant(value.type.kind === "tensor", "a block gives tensors");
      const name = this.#names.claim(`${value.name}_result`);
      this.#operations.push(this.#operation("identity", name, [["x", value.bindings]], [{ name, type: value.type }]));
      return { name, type: value.type };
    });
    const block = {
      inputs: named,
      operations: this.#operations,
      outputs: outputs.map(({ name }) => name),
      types: outputs.map(({ type }) => type),
    };
    [this.#operations, this.#constants, this.#made, this.#literals] = outer;
    return block;
  }

  /** An operator with blocks; its results have the given types. */
  nested(
    type: Extract<OwnOp, "cond" | "while_loop">,
    args: readonly (readonly [argument: string, values: readonly MilValue[]])[],
    blocks: readonly MilBlock[],
    types: readonly MilTensorType[],
  ): readonly MilValue[] {
    checkDomains(type, requireVersion(type, this.opset), new Map(args));
    const wish = this.#label === "" ? type : `${this.#label}_${type}`;
    const outputs = types.map((t) => milValue(this.#names.claim(wish), t, "no"));
    const bindings = args.map(([argument, values]) => [argument, values.flatMap((v) => v.bindings)] as const);
    const bare = blocks.map(({ inputs, operations, outputs: results }): MilBlock => ({
      inputs,
      operations,
      outputs: results,
    }));
    this.#operations.push({ ...this.#operation(type, outputs[0]?.name ?? wish, bindings, outputs), blocks: bare });
    return outputs;
  }

  /** A constexpr operator: its operands are literal values (mostly blob records), its result a compile-time constant. */
  constexpr(type: ConstexprName, operands: readonly (readonly [string, MilConstant])[], wish: string): MilValue {
    const version = requireVersion(type, this.opset);
    const values = new Map(
      operands.map(([name, constant]): [string, readonly MilValue[]] => [
        name,
        [milValue(name, constant.type, "const", constant)],
      ]),
    );
    for (const argument of version.args)
      if (argument.optional !== true && !values.has(argument.name)) fail(type, `argument ${argument.name} is missing`);
    checkDomains(type, version, values);
    const [out] = inferOutputs(type, values);
    invariant(out, `${type} has an output`);
    const name = this.#names.claim(wish);
    const bindings = operands.map(([argument, value]) => [argument, [{ kind: "value", value } as const]] as const);
    this.#operations.push({ ...this.#operation(type, name, bindings, [{ name, type: out }]), origins: [] });
    return milValue(name, out, "constexpr");
  }

  /** `write_state` has no outputs and is ordered by position. */
  writeState(state: MilValue, data: MilValue): void {
    const { type } = state;
    const matches =
      data.type.kind === "tensor" && data.type.dtype === type.dtype && data.type.shape.join() === type.shape.join();
    if (type.kind !== "state" || !matches)
      throw new WorkbenchError("BUG_INVARIANT", `[write_state] got ${typeText(data.type)} for ${typeText(type)}`);
    const name = this.#names.claim(`${state.name}_write`);
    const inputs: MilOperation["inputs"] = [
      ["input", state.bindings],
      ["data", data.bindings],
    ];
    this.#operations.push(this.#operation("write_state", name, inputs, []));
  }

  /** A constant written into the program. Equal small ones are one. */
  constant(dtype: MilDtype, shape: readonly number[], values: ArrayLike<number>, wish = "c"): MilValue {
    const count = elementCount(shape);
    invariant(values.length === count, `constant ${dtype}[${shape.join()}] has ${values.length} values`);
    return this.#constant({ type: tensorType(dtype, shape), data: { kind: "numbers", values } }, wish);
  }

  /** A constant whose data is a record of the weight file, or known numbers. */
  data(constant: MilConstant, wish: string): MilValue {
    return this.#constant(constant, wish);
  }

  text(value: string): MilValue {
    return this.#constant({ type: tensorType("string", []), data: { kind: "text", text: value } }, sanitizeText(value));
  }

  #operation(
    type: BuildableOp | ConstexprName | OwnOp,
    name: string,
    inputs: MilOperation["inputs"],
    outputs: readonly MilNamed[],
    value?: MilConstant,
  ): MilOperation {
    return { type, name, inputs, outputs, origins: this.#origins, ...(value === undefined ? {} : { value }) };
  }

  #constant(constant: MilConstant, wish: string): MilValue {
    const key = constantKey(constant);
    const known = key === undefined ? undefined : this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.#names.claim(wish);
    this.#operations.push({
      ...this.#operation("const", name, [], [{ name, type: constant.type }], constant),
      origins: [],
    });
    const value = milValue(name, constant.type, "const", constant);
    if (key !== undefined) this.#constants.set(key, value);
    return value;
  }

  /** Arguments in the table's order. Values are looked at first: literals take their element type from them. */
  #resolve(type: string, version: MilOpVersion, given: Readonly<Record<string, Given>>): Resolved {
    checkNames(type, this.opset, version, given);
    const slots = version.args.map((argument): readonly MilValue[] | undefined => {
      const value = given[argument.name];
      return isValueList(value) ? value : isValue(value) ? [value] : undefined;
    });
    const known: Known = (name) => slots[version.args.findIndex((a) => a.name === name)];
    version.args.forEach((argument, i) => {
      if (slots[i] !== undefined) return;
      const value = given[argument.name];
      const literal =
        value !== undefined && !isValue(value) && !isValueList(value)
          ? value
          : fallbackLiteral(type, argument.fallback, known);
      if (literal !== undefined) slots[i] = [this.#literal(type, argument, literal, version, known)];
      else if (argument.optional !== true) fail(type, `argument ${argument.name} is missing`);
    });
    const resolved = new Map<string, readonly MilValue[]>();
    version.args.forEach((argument, i) => {
      const values = slots[i];
      if (values !== undefined) resolved.set(argument.name, values);
    });
    return resolved;
  }

  #literal(type: string, argument: MilArgument, literal: Literal, version: MilOpVersion, known: Known): MilValue {
    if (typeof literal === "string") return this.text(literal);
    const dtype = literalDtype(type, argument, literal, version, known);
    const key = `${dtype}${Array.isArray(literal) ? `[${literal.join()}]` : Object.is(literal, -0) ? "-0" : String(literal)}`;
    const made = this.#literals.get(key);
    if (made !== undefined) return made;
    const numbers = Array.isArray(literal) ? literal.map(Number) : [Number(literal)];
    const value = this.constant(dtype, Array.isArray(literal) ? [numbers.length] : [], numbers, `c_${argument.name}`);
    this.#literals.set(key, value);
    return value;
  }
}

/** Values of an argument that is known already. */
type Known = (name: string) => readonly MilValue[] | undefined;

function checkNames(
  type: string,
  opset: MilOpset,
  version: MilOpVersion,
  given: Readonly<Record<string, Given>>,
): void {
  for (const name of Object.keys(given))
    if (given[name] !== undefined && !version.args.some((a) => a.name === name))
      fail(type, `unknown argument ${name} in ${opset}: it takes ${version.args.map((a) => a.name).join(", ")}`);
}

const sanitizeText = (text: string): string => `s_${text}`;

function fail(type: string, what: string): never {
  throw new WorkbenchError("BUG_INVARIANT", `[${type}] ${what}`);
}

/** Equal keys mean equal constants; undefined for big ones, which are never compared. */
function constantKey(constant: MilConstant): string | undefined {
  const { data } = constant;
  const head = typeText(constant.type);
  switch (data.kind) {
    case "blob":
      return `${head}@${data.offset}`;
    case "text":
      return `${head}"${data.text}"`;
    case "numbers": {
      if (data.values.length > SMALL_CONSTANT) return isAllZero(data.values) ? `${head}:zeros` : undefined;
      return `${head}:${Array.from(data.values, (v) => (Object.is(v, -0) ? "-0" : String(v))).join()}`;
    }
  }
}

function isAllZero(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) if (!Object.is(values[i], 0)) return false;
  return true;
}

/** A literal's element type: that of a value with the same type letter, else of `x` where allowed, else the natural one. */
function literalDtype(
  type: string,
  argument: MilArgument,
  literal: Literal,
  version: MilOpVersion,
  known: Known,
): MilDtype {
  const allowed = argument.types ?? [];
  const one = Array.isArray(literal) ? (literal as readonly (number | boolean)[])[0] : literal;
  if (typeof one === "boolean") return "bool";
  if (argument.domain !== undefined)
    for (const other of version.args) {
      if (other.domain !== argument.domain) continue;
      const dtype = known(other.name)?.[0]?.type.dtype;
      if (dtype !== undefined) return dtype;
    }
  for (const other of ["x", "input", "values", "weight"]) {
    const dtype = known(other)?.[0]?.type.dtype;
    if (dtype !== undefined && isFloat(dtype) && allowed.includes(dtype)) return dtype;
  }
  const natural = allowed.includes("int32") ? "int32" : allowed[0];
  if (natural === undefined) fail(type, `argument ${argument.name} cannot be a literal`);
  const whole = [literal].flat().every((v) => Number.isInteger(v));
  if (!whole && !isFloat(natural))
    fail(type, `argument ${argument.name} needs a typed constant: ${JSON.stringify(literal)} is not ${natural}`);
  return natural;
}

/** The default as a literal; undefined where it cannot be told (and is then left out). */
function fallbackLiteral(type: string, fallback: MilFallback | undefined, known: Known): Literal | undefined {
  if (fallback === undefined) return undefined;
  const rank = (name: string): number => known(name)?.[0]?.type.shape.length ?? 0;
  switch (fallback.kind) {
    case "value":
      return fallback.value;
    case "spatial":
      return new Array<number>(Math.max(0, rank("x") - 2)).fill(fallback.value);
    case "spatialPads":
      return new Array<number>(2 * Math.max(0, rank("x") - 2)).fill(fallback.value);
    case "allAxes":
      return Array.from({ length: rank("x") }, (_, i) => i);
    case "zeroBias":
      return new Array<number>(known("weight")?.[0]?.type.shape[0] ?? 0).fill(0);
    case "mustGive":
      return fail(type, "an argument whose default depends on data must be given");
  }
}

/** Element types allowed, shared letters equal, constants constant. */
function checkDomains(type: string, version: MilOpVersion, resolved: Resolved): void {
  const letters = new Map<string, MilDtype>();
  for (const argument of version.args) {
    for (const value of resolved.get(argument.name) ?? []) {
      if (argument.kind === "state" ? value.type.kind !== "state" : value.type.kind === "state")
        fail(type, `argument ${argument.name} is ${typeText(value.type)}`);
      if (value.weight !== undefined && value.constness === "no")
        fail(type, `argument ${argument.name} is the planned weight ${value.weight.name}: use linear, rows or dense`);
      const { dtype } = value.type;
      if (argument.types !== undefined && !argument.types.includes(dtype))
        fail(type, `argument ${argument.name} is ${dtype}, allowed ${argument.types.join(", ")}`);
      if (argument.constant === true && value.constness === "no")
        fail(type, `argument ${argument.name} must be constant, ${value.name} is computed`);
      if (argument.domain === undefined) continue;
      const before = letters.get(argument.domain);
      if (before === undefined) letters.set(argument.domain, dtype);
      else if (before !== dtype) fail(type, `argument ${argument.name} is ${dtype}, the others ${before}`);
    }
  }
}
