/**
 * Branches and loops in a plan. While a plan is made, an instruction holds the lists of its sub-graphs, so that patterns see
 * straight lines only; `flatten` lays them into the one list that the engine walks, with jumps between. Nothing of it needs
 * JavaScript while the plan runs.
 *
 *   if      branch p → E · then … · jump → X · E: else … · X:
 *   while   (loop n) · L: (loop_limit n → X) · condition … · branch c → X · body … · copies of what is carried · jump → L · X:
 */
import { invariant } from "../../diagnostics/errors.ts";
import type { Dim } from "../../ir/dim.ts";
import type { TensorType } from "../../ir/type.ts";
import { scalar } from "../../ir/type.ts";
import type { DraftBody, DraftInstruction, PlanDraft } from "./draft.ts";
import type { CpuValue } from "./emitter.ts";

/** Lowers one sub-graph over these values into the list that the draft is at; gives its results. */
export type LowerInto = (values: readonly CpuValue[]) => readonly CpuValue[];

const copy = (from: number, to: number, nodes: readonly number[]): DraftInstruction => ({
  kernel: "copy",
  inputs: [from],
  outputs: [to],
  params: {},
  nodes,
});

/** `if`: both branches write their results into the same memory. */
export function emitBranch(
  draft: PlanDraft,
  nodes: readonly number[],
  [predicate, ...captures]: readonly CpuValue[],
  branches: readonly LowerInto[],
  types: readonly TensorType[],
): readonly CpuValue[] {
  invariant(predicate, "[if] the predicate is missing");
  const outputs = types.map((type) => draft.newValue(type));
  const bodies = branches.map((lower) =>
    draft.collect(() => {
      const before = draft.buffers.length;
      const taken = new Set<number>();
      lower(captures).forEach((result, i) => {
        const output = outputs[i];
        invariant(output, "a branch gives what its node gives");
        const buffer = draft.bufferOf(result.id);
        // What the branch itself made is made in place; anything else is copied.
        if (buffer >= before && draft.kindOf(buffer).kind === "temp" && !taken.has(buffer))
          draft.rebase(result.id, draft.bufferOf(output.id));
        else draft.instructions.push(copy(result.id, output.id, nodes));
        taken.add(draft.bufferOf(output.id));
      });
    }),
  );
  draft.instructions.push({
    kernel: "branch",
    inputs: [predicate, ...captures].map((value) => value.id),
    outputs: outputs.map((value) => value.id),
    params: {},
    nodes,
    bodies,
  });
  return outputs;
}

export interface LoopParts {
  readonly carried: number;
  readonly most: Dim | undefined;
  readonly condition: LowerInto;
  readonly body: LowerInto;
}

/** `while`: what is carried has memory of its own, which each turn replaces at its end. */
export function emitLoop(
  draft: PlanDraft,
  nodes: readonly number[],
  inputs: readonly CpuValue[],
  { carried, most, condition, body }: LoopParts,
): readonly CpuValue[] {
  const outputs = inputs.slice(0, carried).map(({ type }) => draft.newValue(type));
  outputs.forEach((output, i) => draft.instructions.push(copy(inputs[i]?.id ?? -1, output.id, nodes)));
  const rest = inputs.slice(carried);
  const values = [...outputs, ...rest];
  let flag: CpuValue | undefined;
  const test = draft.collect(() => {
    [flag] = condition(values);
  });
  invariant(flag, "[while] the condition has no result");
  test.kept.push(flag.id);
  const turn = draft.collect(() => replace(draft, nodes, outputs, body(values)));
  const counter = most === undefined ? [] : [draft.newValue(scalar("i64")).id];
  draft.instructions.push({
    kernel: "loop",
    inputs: values.map((value) => value.id),
    outputs: [...outputs.map((value) => value.id), ...counter],
    params: most === undefined ? {} : { most },
    nodes,
    bodies: [test, turn],
  });
  return outputs;
}

/** The results of a turn become what is carried; one that is carried already is saved before it is overwritten. */
function replace(
  draft: PlanDraft,
  nodes: readonly number[],
  carried: readonly CpuValue[],
  results: readonly CpuValue[],
): void {
  const own = new Set(carried.map((value) => draft.bufferOf(value.id)));
  const moved = carried.flatMap((to, i) => {
    const from = results[i];
    return from === undefined || draft.bufferOf(from.id) === draft.bufferOf(to.id) ? [] : [{ from, to }];
  });
  const sources = moved.map(({ from }) => {
    if (!own.has(draft.bufferOf(from.id))) return from.id;
    const saved = draft.newValue(from.type).id;
    draft.instructions.push(copy(from.id, saved, nodes));
    return saved;
  });
  moved.forEach(({ to }, i) => draft.instructions.push(copy(sources[i] ?? -1, to.id, nodes)));
}

/** Applies a pattern to the list of each sub-graph, innermost first: what others read or write is not its to change. */
export function inBodies(draft: PlanDraft, pattern: (draft: PlanDraft) => void): void {
  for (const { inputs, outputs, bodies = [] } of draft.instructions)
    for (const body of bodies)
      draft.within(body, [...inputs, ...outputs, ...body.kept], () => {
        inBodies(draft, pattern);
        pattern(draft);
      });
}

/** One list for the engine; remembers the loops, because what a turn reads must outlive the turn. */
export function flatten(draft: PlanDraft): void {
  if (!draft.instructions.some((instruction) => instruction.bodies !== undefined)) return;
  const flat: DraftInstruction[] = [];
  for (const instruction of draft.instructions) lay(draft, flat, instruction);
  draft.instructions = flat;
}

const jump = (nodes: readonly number[], target: number): DraftInstruction => ({
  kernel: "jump",
  inputs: [],
  outputs: [],
  params: { target },
  nodes,
});

const branch = (nodes: readonly number[], flag: number, target: number): DraftInstruction => ({
  kernel: "branch",
  inputs: [flag],
  outputs: [],
  params: { target },
  nodes,
});

function lay(draft: PlanDraft, flat: DraftInstruction[], instruction: DraftInstruction): void {
  const [first, second] = instruction.bodies ?? [];
  if (first === undefined || second === undefined) flat.push(instruction);
  else if (instruction.kernel === "branch") layBranch(draft, flat, instruction, first, second);
  else layLoop(draft, flat, instruction, first, second);
}

/** Puts an instruction where its target was not known yet. */
function hold(flat: DraftInstruction[]): (instruction: DraftInstruction) => void {
  const at = flat.length;
  flat.push(jump([], 0));
  return (instruction) => {
    flat[at] = instruction;
  };
}

function layAll(draft: PlanDraft, flat: DraftInstruction[], body: DraftBody): void {
  for (const instruction of body.instructions) lay(draft, flat, instruction);
}

function layBranch(
  draft: PlanDraft,
  flat: DraftInstruction[],
  { inputs: [predicate = -1], nodes }: DraftInstruction,
  yes: DraftBody,
  no: DraftBody,
): void {
  const start = hold(flat);
  layAll(draft, flat, yes);
  if (no.instructions.length === 0) {
    start(branch(nodes, predicate, flat.length));
    return;
  }
  const skip = hold(flat);
  start(branch(nodes, predicate, flat.length));
  layAll(draft, flat, no);
  skip(jump(nodes, flat.length));
}

function layLoop(
  draft: PlanDraft,
  flat: DraftInstruction[],
  { outputs, params, nodes }: DraftInstruction,
  test: DraftBody,
  body: DraftBody,
): void {
  const { most } = params;
  const counter = outputs.at(-1) ?? -1;
  if (most !== undefined) flat.push({ kernel: "loop", inputs: [], outputs: [counter], params: {}, nodes });
  const from = flat.length;
  const limit = most === undefined ? undefined : hold(flat);
  layAll(draft, flat, test);
  const leave = hold(flat);
  layAll(draft, flat, body);
  flat.push(jump(nodes, from));
  const end = flat.length;
  leave(branch(nodes, test.kept[0] ?? -1, end));
  if (most !== undefined)
    limit?.({ kernel: "loop_limit", inputs: [counter], outputs: [counter], params: { most, target: end }, nodes });
  draft.loops.push({ from, to: end - 1 });
}
