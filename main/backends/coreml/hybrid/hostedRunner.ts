/**
 * A package some of whose functions are parts of a step: for a decoder, the step as one function again, with the host parts in
 * between. It runs like any package, so that sessions, rewinding and saving are those of every other model. States come and go
 * with each call, those of host parts in 32-bit words that lose nothing.
 */
import { WorkbenchError, invariant } from "../../../diagnostics/errors.ts";
import type { Graph } from "../../../ir/graph.ts";
import type { HostTensor } from "../../../ir/hostTensor.ts";
import { initialOf } from "../../../ir/initial.ts";
import { rewindOf } from "../../../ir/rewind.ts";
import type { TensorType } from "../../../ir/type.ts";
import type { FeatureBinding } from "../lowering/lower.ts";
import type { PackageFunction, PackageRunner, PackageRunOptions, PackageState } from "../package/packageRunner.ts";
import type { PackageTensor } from "../package/packageTensor.ts";
import type { HybridProgram } from "./program.ts";
import type { HybridOptions, PartTiming } from "./runner.ts";
import { HybridRunner, OWN_KINDS, crossingStates } from "./runner.ts";
import { fromHeld, heldForm, toHeld } from "./tensors.ts";

/** The parts of one step by the clock. */
export interface StepParts {
  readonly function: string;
  readonly program: HybridProgram;
  readonly timings: readonly PartTiming[];
}

/** Seconds of each part, summed over all steps of a function. */
export interface PartTimes {
  readonly function: string;
  readonly program: HybridProgram;
  readonly steps: number;
  /** By part index. */
  readonly seconds: readonly number[];
}

interface Hosted {
  readonly runner: HybridRunner;
  readonly program: HybridProgram;
  readonly bindings: readonly FeatureBinding[];
}

export class HostedRunner implements PackageRunner {
  readonly label: string;
  readonly truth: PackageRunner["truth"];
  /** Called after every step, for the profiler. */
  onParts: ((parts: StepParts) => void) | undefined;
  readonly #package: PackageRunner;
  readonly #functions: ReadonlyMap<string, Hosted>;
  readonly #times = new Map<string, PartTimes>();

  /** `programs`: by the name of the function that they stand for. */
  constructor(options: Omit<HybridOptions, "program">, programs: ReadonlyMap<string, HybridProgram>) {
    this.#package = options.runner;
    this.label = options.runner.label;
    this.truth = options.runner.truth;
    this.#functions = new Map(
      [...programs].map(([name, program]): [string, Hosted] => [
        name,
        { program, bindings: stepBindings(program), runner: new HybridRunner({ ...options, program }) },
      ]),
    );
  }

  /** What the features of each of its functions stand for. */
  get bindings(): Readonly<Record<string, readonly FeatureBinding[]>> {
    return Object.fromEntries([...this.#functions].map(([name, { bindings }]) => [name, bindings]));
  }

  /** Of the functions that ran, since it was opened. */
  get times(): readonly PartTimes[] {
    return [...this.#times.values()];
  }

  newState(): PackageState {
    return this.#package.newState();
  }

  function(name: string): PackageFunction {
    const hosted = this.#functions.get(name);
    if (hosted === undefined) return this.#package.function(name);
    return { predict: (inputs, options = {}) => this.#predict(name, hosted, inputs, options) };
  }

  async #predict(
    name: string,
    { runner, program, bindings }: Hosted,
    features: Readonly<Record<string, PackageTensor>>,
    { signal, onOperation }: PackageRunOptions,
  ): Promise<Readonly<Record<string, PackageTensor>>> {
    const { graph, functions } = program;
    const inputs: Record<string, HostTensor> = {};
    const states: Record<string, HostTensor> = {};
    for (const { kind, name: of, feature } of bindings) {
      const given = features[feature];
      const leaf = leafType(graph, of);
      if (given === undefined || leaf === undefined) continue;
      if (kind === "input") inputs[of] = fromHeld(leaf, given);
      else if (kind === "stateIn" && feature === stateFeature(of)) states[of] = fromHeld(leaf, given);
    }
    const own = new Map(
      [...functions].map(([part, { bindings: list }]): [number, Readonly<Record<string, PackageTensor>>] => [
        part,
        Object.fromEntries(
          list.flatMap(({ kind, feature }) => {
            const given = kind === "stateIn" ? features[ownFeature(part, feature)] : undefined;
            return given === undefined ? [] : [[feature, given] as const];
          }),
        ),
      ]),
    );
    const made = await runner.run(inputs, { states, own, signal, onOperation });
    const before = this.#times.get(name) ?? { function: name, program, steps: 0, seconds: [] };
    const seconds = made.timings.map(({ part, seconds: own }) => (before.seconds[part] ?? 0) + own);
    this.#times.set(name, { ...before, steps: before.steps + 1, seconds });
    this.onParts?.({ function: name, program, timings: made.timings });
    const out: Record<string, PackageTensor> = {};
    for (const { name: output, value } of graph.outputs) {
      const tensor = made.outputs[output];
      const type = graph.nodes[value.node]?.outputs[value.output];
      invariant(tensor !== undefined && type !== undefined, `[hybrid] no output ${output}`);
      out[outputFeature(output)] = toHeld(type, tensor);
    }
    for (const [state, value] of Object.entries(made.states)) {
      const type = leafType(graph, state);
      invariant(type, `[hybrid] no state ${state}`);
      out[nextFeature(state)] = toHeld(type, value);
    }
    for (const [part, given] of made.own)
      for (const [feature, value] of Object.entries(given)) out[ownFeature(part, feature)] = value;
    return out;
  }
}

// A graph's input and its state never have the same name.
const inputFeature = (name: string): string => `in ${name}`;
const outputFeature = (name: string): string => `out ${name}`;
const stateFeature = (name: string): string => `state ${name}`;
const nextFeature = (name: string): string => `next ${name}`;
const ownFeature = (part: number, feature: string): string => `part ${part} ${feature}`;

function leafType(graph: Graph, name: string): TensorType | undefined {
  const id = [...graph.inputs, ...graph.states.map(({ input }) => input)].find(
    (leaf) => graph.nodes[leaf]?.attrs["name"] === name,
  );
  return id === undefined ? undefined : graph.nodes[id]?.outputs[0];
}

/** The bindings of a whole step: those of its graph, and what its parts take and give for states of their own. */
function stepBindings(program: HybridProgram): readonly FeatureBinding[] {
  const { graph, functions } = program;
  const made: FeatureBinding[] = [];
  const add = (kind: FeatureBinding["kind"], name: string, feature: string, type: TensorType | undefined): void => {
    invariant(type, `[hybrid] ${name} has no type`);
    made.push({ kind, name, feature, ...heldForm(type) });
  };
  for (const id of graph.inputs) {
    const name = String(graph.nodes[id]?.attrs["name"]);
    add("input", name, inputFeature(name), graph.nodes[id]?.outputs[0]);
  }
  for (const { name, input } of crossingStates(program)) {
    const leaf = graph.nodes[input];
    invariant(leaf, `[hybrid] no state ${name}`);
    if (initialOf(leaf.attrs) !== undefined)
      throw new WorkbenchError(
        "UNSUPPORTED_OP",
        `[hybrid] state ${name}: got a variable, expected a state that starts as zeros`,
        { hint: "Run this graph on the CPU." },
      );
    const [type] = leaf.outputs;
    const rewind = rewindOf(leaf);
    invariant(type, `[hybrid] state ${name} has no type`);
    const back = rewind === "positions" ? {} : { rewind };
    made.push({ kind: "stateIn", name, feature: stateFeature(name), ...heldForm(type), ...back });
    made.push({ kind: "stateOut", name, feature: nextFeature(name), ...heldForm(type), ...back });
  }
  for (const [part, { bindings }] of functions)
    for (const binding of bindings)
      if (OWN_KINDS.has(binding.kind)) made.push({ ...binding, feature: ownFeature(part, binding.feature) });
  for (const { name, value } of graph.outputs)
    add("output", name, outputFeature(name), graph.nodes[value.node]?.outputs[value.output]);
  return made;
}
