/**
 * Linear blocks: everything around matrix products that read the same rows becomes one instruction, so that a layer needs
 * few barriers and the rows are prepared once.
 *
 *   Given   n = rms_norm(x, w); q = linear(n, wq); k = linear(n, wk); v = linear(n, wv)
 *   Result  q, k, v = linear_block(x, w, -, wq, -, wk, -, wv, -) {normalise, eps}
 *   Given   y = linear(x, w); z = add(y, r)
 *   Result  z = linear_block(x, -, r, w, -)
 *   Given   s, n = add_rms_norm(x, r, w)          (n, s used)
 *   Result  s = add(x, r); n = rms_norm(s, w)      and then as above
 *
 *   Given   g = linear(x, wg); u = linear(x, wu); y = mul(silu(g), u)      (or glu(g, u))
 *   Result  y = linear_block(x, -, -, wg, -, wu, -) {gated}
 *
 * A norm is taken in only when all its readers are in the block; nothing is computed twice.
 */
import type { DraftInstruction, PlanDraft } from "../draft.ts";
import type { Uses } from "../draft.ts";
import { numberParam, readOnlyBy, soleWriter, usesOf } from "../draft.ts";
import { sameShape } from "../../../ir/type.ts";

interface Matrix {
  readonly operands: readonly number[];
  readonly output: number;
}

/** The open form of a block; the operands of a matrix are (w, bias) or (gate, gate bias, up, bias). */
interface Block {
  readonly x: number;
  readonly norm: number;
  readonly normalise: boolean;
  readonly eps: number;
  readonly add: number;
  readonly gated: boolean;
  readonly activation: number;
  readonly matrices: readonly Matrix[];
  readonly nodes: readonly number[];
}

const plain = { norm: -1, normalise: false, eps: 0, add: -1, gated: false, activation: 0 };

/** Any product instruction as a block; undefined for the others. */
function openBlock({ kernel, inputs, outputs, params, nodes }: DraftInstruction): Block | undefined {
  const at = (i: number): number => inputs[i] ?? -1;
  const out = (i: number): number => outputs[i] ?? -1;
  const base = { ...plain, x: at(0), nodes };
  switch (kernel) {
    case "linear":
      return { ...base, matrices: [{ operands: [at(1), at(2)], output: out(0) }] };
    case "linear_add":
      return { ...base, add: at(2), matrices: [{ operands: [at(1), at(3)], output: out(0) }] };
    case "qkv_linear":
      return { ...base, matrices: [0, 1, 2].map((i) => ({ operands: [at(1 + i), at(4 + i)], output: out(i) })) };
    case "swiglu_linear":
      return {
        ...base,
        gated: true,
        activation: numberParam(params, "activation", 0),
        matrices: [{ operands: [at(1), -1, at(2), -1], output: out(0) }],
      };
    case "linear_block": {
      const gated = params["gated"] === true;
      const each = gated ? 4 : 2;
      return {
        x: at(0),
        norm: at(1),
        add: at(2),
        normalise: params["normalise"] === true,
        eps: numberParam(params, "eps", 0),
        gated,
        activation: numberParam(params, "activation", 0),
        matrices: outputs.map((output, i) => ({ operands: inputs.slice(3 + i * each, 3 + (i + 1) * each), output })),
        nodes,
      };
    }
    default:
      return undefined;
  }
}

const closeBlock = (block: Block): DraftInstruction => ({
  kernel: "linear_block",
  inputs: [block.x, block.norm, block.add, ...block.matrices.flatMap((matrix) => matrix.operands)],
  outputs: block.matrices.map((matrix) => matrix.output),
  params: { normalise: block.normalise, eps: block.eps, gated: block.gated, activation: block.activation },
  nodes: block.nodes,
});

const union = (a: readonly number[], b: readonly number[]): readonly number[] => [...new Set([...a, ...b])];

export function linearBlocks(draft: PlanDraft): void {
  splitAddNorms(draft);
  takeGates(draft);
  mergeSiblings(draft);
  takeResiduals(draft);
  takeNorms(draft);
}

/** add_rms_norm(x, r, w) → add, rms_norm: both halves then join the products before and after. */
function splitAddNorms(draft: PlanDraft): void {
  draft.instructions = draft.instructions.flatMap((instruction): readonly DraftInstruction[] => {
    if (instruction.kernel !== "add_rms_norm") return [instruction];
    const [x = -1, residual = -1, weight = -1] = instruction.inputs;
    const [sum = -1, normed = -1] = instruction.outputs;
    return [
      { kernel: "add", inputs: [x, residual], outputs: [sum], params: {}, nodes: instruction.nodes },
      {
        kernel: "rms_norm",
        inputs: [sum, weight],
        outputs: [normed],
        params: instruction.params,
        nodes: instruction.nodes,
      },
    ];
  });
}

/** The shape that the product has where it is made: a block writes no other view of it. */
const unchanged = (draft: PlanDraft, made: number, seen: number): boolean =>
  sameShape(draft.valueAt(made).type.shape, draft.valueAt(seen).type.shape);

/** The linear that alone makes this value, when only `reader` reads it. */
function privateLinear(draft: PlanDraft, uses: Uses, id: number, reader: number): DraftInstruction | undefined {
  const place = soleWriter(uses, draft.bufferOf(id));
  const host = place === undefined ? undefined : draft.instructions[place];
  if (host?.kernel !== "linear" || !readOnlyBy(uses, draft.bufferOf(id), reader)) return undefined;
  return unchanged(draft, host.outputs[0] ?? -1, id) ? host : undefined;
}

/** The gate and up values of act(gate) * up, and the instructions that make it. */
function gateOf(
  draft: PlanDraft,
  uses: Uses,
  at: number,
): { gate: number; up: number; activation: number; parts: readonly number[] } | undefined {
  const instruction = draft.instructions[at];
  const [a = -1, b = -1] = instruction?.inputs ?? [];
  if (instruction?.kernel === "glu")
    return { gate: a, up: b, activation: numberParam(instruction.params, "activation", 0), parts: [] };
  if (instruction?.kernel !== "mul") return undefined;
  for (const [activated, up] of [[a, b] as const, [b, a] as const]) {
    const place = soleWriter(uses, draft.bufferOf(activated));
    const silu = place === undefined ? undefined : draft.instructions[place];
    if (place === undefined || silu?.kernel !== "silu" || !readOnlyBy(uses, draft.bufferOf(activated), at)) continue;
    return { gate: silu.inputs[0] ?? -1, up, activation: 0, parts: [place] };
  }
  return undefined;
}

function takeGates(draft: PlanDraft): void {
  const uses = usesOf(draft);
  const gone = new Set<DraftInstruction>();
  const result = draft.instructions.map((instruction, at) => {
    const found = gateOf(draft, uses, at);
    if (found === undefined) return instruction;
    const gate = privateLinear(draft, uses, found.gate, found.parts[0] ?? at);
    const up = privateLinear(draft, uses, found.up, at);
    if (gate === undefined || up === undefined || gate === up || gate.inputs[0] !== up.inputs[0]) return instruction;
    const [x = -1, gateWeight = -1, gateBias = -1] = gate.inputs;
    const [, upWeight = -1, upBias = -1] = up.inputs;
    const [output = -1] = instruction.outputs;
    const shapes = [found.gate, found.up, output].map((id) => draft.valueAt(id).type.shape);
    if (!shapes.every((shape) => sameShape(shape, shapes[0] ?? []))) return instruction;
    const parts = found.parts.flatMap((place) => draft.instructions[place] ?? []);
    for (const part of [gate, up, ...parts]) gone.add(part);
    return closeBlock({
      ...plain,
      x,
      gated: true,
      activation: found.activation,
      matrices: [{ operands: [gateWeight, gateBias, upWeight, upBias], output }],
      nodes: [gate, up, ...parts, instruction].reduce<readonly number[]>((all, part) => union(all, part.nodes), []),
    });
  });
  draft.instructions = result.filter((instruction) => !gone.has(instruction));
}

/** Products of the same rows become one block at the place of the first, if their operands exist there. */
function mergeSiblings(draft: PlanDraft): void {
  const writer = new Map<number, number>();
  draft.instructions.forEach((instruction, at) => {
    for (const id of instruction.outputs) writer.set(draft.bufferOf(id), at);
  });
  const first = new Map<number, number>();
  const merged: (DraftInstruction | undefined)[] = [...draft.instructions];
  draft.instructions.forEach((instruction, at) => {
    const block = openBlock(instruction);
    if (block === undefined || block.gated || block.add >= 0 || block.normalise) return;
    const place = first.get(block.x);
    const host = place === undefined ? undefined : merged[place];
    const into = host === undefined ? undefined : openBlock(host);
    const ready = block.matrices.every((matrix) =>
      matrix.operands.every((id) => id < 0 || (writer.get(draft.bufferOf(id)) ?? -1) < (place ?? 0)),
    );
    if (place === undefined || into === undefined || !ready) {
      if (place === undefined) first.set(block.x, at);
      return;
    }
    merged[place] = closeBlock({
      ...into,
      matrices: [...into.matrices, ...block.matrices],
      nodes: union(into.nodes, block.nodes),
    });
    merged[at] = undefined;
  });
  draft.instructions = merged.filter((instruction) => instruction !== undefined);
}

/** add(product, r) becomes the product's end, when only the add reads the product. The block moves to the add's place. */
function takeResiduals(draft: PlanDraft): void {
  const uses = usesOf(draft);
  const result: (DraftInstruction | undefined)[] = [...draft.instructions];
  draft.instructions.forEach((instruction, at) => {
    if (instruction.kernel !== "add") return;
    const [sum = -1] = instruction.outputs;
    for (const [product, residual] of [instruction.inputs, [...instruction.inputs].reverse()]) {
      if (product === undefined || residual === undefined) continue;
      const place = soleWriter(uses, draft.bufferOf(product));
      const host = place === undefined ? undefined : result[place];
      const block = host === undefined ? undefined : openBlock(host);
      if (place === undefined || block === undefined || block.matrices.length !== 1 || block.add >= 0) continue;
      if (product === residual || !readOnlyBy(uses, draft.bufferOf(product), at)) continue;
      if (!block.matrices.every((matrix) => unchanged(draft, matrix.output, product))) continue;
      const [wanted, added] = [draft.valueAt(sum).type, draft.valueAt(residual).type];
      if (!sameShape(wanted.shape, added.shape) || !sameShape(wanted.shape, draft.valueAt(product).type.shape))
        continue;
      if (wanted.dtype !== "f32" || added.dtype !== "f32") continue;
      const matrices = block.matrices.map((matrix) => ({ ...matrix, output: sum }));
      result[place] = undefined;
      result[at] = closeBlock({ ...block, add: residual, matrices, nodes: union(block.nodes, instruction.nodes) });
      return;
    }
  });
  draft.instructions = result.filter((instruction) => instruction !== undefined);
}

/** rms_norm goes into the block that is its only reader. */
function takeNorms(draft: PlanDraft): void {
  const uses = usesOf(draft);
  const result: (DraftInstruction | undefined)[] = [...draft.instructions];
  draft.instructions.forEach((instruction, at) => {
    const block = openBlock(instruction);
    if (block === undefined || block.normalise) return;
    const buffer = draft.bufferOf(block.x);
    const place = soleWriter(uses, buffer);
    const norm = place === undefined ? undefined : result[place];
    if (place === undefined || norm?.kernel !== "rms_norm" || !readOnlyBy(uses, buffer, at)) return;
    const [x = -1, weight = -1] = norm.inputs;
    // The block may read them as rows only: a residual that is the norm itself would have no writer left.
    const others = [block.add, ...block.matrices.flatMap((matrix) => matrix.operands)];
    if (others.some((id) => id >= 0 && draft.bufferOf(id) === buffer)) return;
    // The rows must be what the norm made: a view with another last dim is something else.
    if (draft.valueAt(block.x).type.shape.at(-1) !== draft.valueAt(norm.outputs[0] ?? -1).type.shape.at(-1)) return;
    // x must still be there at the block: nothing may write to it in between.
    if ((uses.writers[draft.bufferOf(x)] ?? []).some((writer) => writer > place && writer < at)) return;
    const type = { ...draft.valueAt(block.x).type };
    const rows = draft.newValue(type, draft.bufferOf(x));
    result[place] = undefined;
    result[at] = closeBlock({
      ...block,
      x: rows.id,
      norm: weight,
      normalise: true,
      eps: numberParam(norm.params, "eps", 1e-5),
      nodes: union(norm.nodes, block.nodes),
    });
  });
  draft.instructions = result.filter((instruction) => instruction !== undefined);
}
