/**
 * Builds a MIL function operator by operator, each checked against the operator table: arguments known and complete,
 * element types allowed, shared type letters equal, constants constant. Every optional argument that has a default is
 * written out (Core ML itself wants them), and equal operators on equal operands are made once.
 */
import { WorkbenchError, invariant } from "../../../diagnostics/errors.ts";
import type { Given, GivenArguments, Known, Literal, Resolved } from "./callArguments.ts";
import { checkDomains, checkNames, fail, fallbackLiteral, literalDtype, valuesIn } from "./callArguments.ts";
import type { CallKind } from "./callKinds.ts";
import { CallKinds } from "./callKinds.ts";
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
  MilFunction,
  MilNamed,
  MilOperation,
  MilOpset,
  MilOpVersion,
  MilTensorType,
  MilType,
  MilValue,
} from "./types.ts";
import { elementCount, tensorType, typeText } from "./types.ts";

/** Constants up to this size keep their data for shape inference and folding of equal ones. */
const SMALL_CONSTANT = 64;

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

/** Equal keys compute the same. */
function callKey({ number, arguments: args }: CallKind, given: GivenArguments): string {
  let key = String(number);
  for (const { name, literal } of args) {
    if (literal !== undefined) continue;
    key += ";";
    for (const value of valuesIn(given[name]) ?? []) key += `,${value.number}`;
  }
  return key;
}

const givenBindings = (given: Given): readonly MilBinding[] => bindingsOf(valuesIn(given) ?? []);

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
  #kinds = new Map<number, CallKind>();
  readonly #kindOf = new CallKinds();
  readonly #share: boolean;
  #values = 0;
  readonly #reserved = new Map<string, string>();
  #origins: readonly number[] = [];
  #label = "";

  /** `share`: false works out every call for itself. The function is the same (a test holds it to that). */
  constructor(name: string, opset: MilOpset, names: NameTable, { share = true }: { readonly share?: boolean } = {}) {
    this.name = name;
    this.opset = opset;
    this.#names = names;
    this.#share = share;
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
    return this.#value(name, type, "no");
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
    const given: GivenArguments = args;
    const kind = this.#kind(type, given);
    const key = callKey(kind, given);
    const known = type === "read_state" ? undefined : this.#made.get(key);
    if (known !== undefined) return known;
    const wish = this.#label === "" ? type : `${this.#label}_${type}`;
    const outputs = kind.outputs.map((t) => this.#value(this.#names.claim(wish), t, "no"));
    const bindings = kind.arguments.map(
      ({ name, literal }) => literal ?? ([name, givenBindings(given[name])] as const),
    );
    this.#operations.push(this.#operation(type, outputs[0]?.name ?? wish, bindings, outputs));
    this.#made.set(key, outputs);
    return outputs;
  }

  /** What the call has in common with others: checked, and with its literals made, when the first of them is. */
  #kind(type: BuildableOp, given: GivenArguments): CallKind {
    const number = this.#kindOf.of(type, given);
    const known = this.#share ? this.#kinds.get(number) : undefined;
    if (known !== undefined) return known;
    const version = requireVersion(type, this.opset);
    const resolved = this.#resolve(type, version, given);
    checkDomains(type, version, resolved);
    const kind: CallKind = {
      number,
      arguments: [...resolved].map(([name, values]) => ({
        name,
        literal: valuesIn(given[name]) === undefined ? [name, bindingsOf(values)] : undefined,
      })),
      outputs: inferOutputs(type, resolved),
    };
    this.#kinds.set(number, kind);
    return kind;
  }

  /** A value of this function, with the next number. */
  #value(name: string, type: MilType, constness: MilValue["constness"], constant?: MilConstant): MilValue {
    const value = { number: this.#values++, name, type, constness, bindings: [{ kind: "name", name }] } as const;
    return constant === undefined ? value : { ...value, constant };
  }

  /**
   * A block of `cond` or `while_loop`: what `build` makes stays inside; it may read what stands outside. Each output is a value of
   * the block's own.
   */
  block(
    inputs: readonly { readonly wish: string; readonly type: MilTensorType }[],
    build: (values: readonly MilValue[]) => readonly MilValue[],
  ): BuiltBlock {
    const outer = [this.#operations, this.#constants, this.#made, this.#literals, this.#kinds] as const;
    this.#operations = [];
    this.#constants = new Map(outer[1]);
    this.#made = new Map(outer[2]);
    this.#literals = new Map(outer[3]);
    this.#kinds = new Map(outer[4]);
    const named = inputs.map(({ wish, type }): MilNamed => ({ name: this.#names.claim(wish), type }));
    const results = build(named.map(({ name, type }) => this.#value(name, type, "no")));
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
    [this.#operations, this.#constants, this.#made, this.#literals, this.#kinds] = outer;
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
    const outputs = types.map((t) => this.#value(this.#names.claim(wish), t, "no"));
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
        [this.#value(name, constant.type, "const", constant)],
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
    return this.#value(name, out, "constexpr");
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
    const value = this.#value(name, constant.type, "const", constant);
    if (key !== undefined) this.#constants.set(key, value);
    return value;
  }

  /** Arguments in the table's order. Values are looked at first: literals take their element type from them. */
  #resolve(type: string, version: MilOpVersion, given: GivenArguments): Resolved {
    checkNames(type, this.opset, version, given);
    const slots = version.args.map(({ name }) => valuesIn(given[name]));
    const known: Known = (name) => slots[version.args.findIndex((a) => a.name === name)];
    version.args.forEach((argument, i) => {
      if (slots[i] !== undefined) return;
      // What is no value is a literal.
      const literal = (given[argument.name] as Literal | undefined) ?? fallbackLiteral(type, argument.fallback, known);
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

const sanitizeText = (text: string): string => `s_${text}`;

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
