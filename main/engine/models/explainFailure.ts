/**
 * Why Core ML refuses a program: the program is tried in a helper, then pieces of its graph, until the smallest that fails in the same
 * way is found. Then ways around it are tried: other units, another context. Every piece is a package of its own, made and removed.
 */
import { lowerGraph } from "../../backends/coreml/hybrid/loweredGraph.ts";
import type { Part } from "../../backends/coreml/hybrid/partition.ts";
import { partOf } from "../../backends/coreml/hybrid/partition.ts";
import type { Route } from "../../backends/coreml/hybrid/route.ts";
import { leversOf } from "../../backends/coreml/levers.ts";
import type { LoweredProgram } from "../../backends/coreml/lowering/lower.ts";
import type { PlanTarget } from "../../backends/coreml/plan/target.ts";
import { systemOf } from "../../backends/coreml/plan/target.ts";
import type { Culprit, ExplainItem, WayOut } from "../../contract/views/compiles.ts";
import type { Phase, TargetSpec } from "../../contract/views/common.ts";
import { throwIfCancelled, toWireError, WorkbenchError } from "../../diagnostics/errors.ts";
import type { Graph } from "../../ir/graph.ts";
import { opTable } from "../../ops/index.ts";
import type { CompileKeeper, TriedPiece } from "../devices.ts";
import type { OpenModel } from "./openModel.ts";
import { coremlEntry } from "./packageRequest.ts";
import { routeOf } from "./routes.ts";
import { smallestFailing } from "./smallestFailing.ts";
import { inSlices } from "./taskCache.ts";

type Done = Extract<ExplainItem, { readonly kind: "done" }>;
type Tried = Extract<ExplainItem, { readonly kind: "tried" }>;

export interface ExplainRequest {
  readonly model: OpenModel;
  readonly target: TargetSpec;
  readonly phase: Phase;
  /** Most pieces. */
  readonly most: number;
  readonly keeper: CompileKeeper;
  /** Writes the package of a lowered program to where `use` finds it, and removes it afterwards. */
  readonly withPackage: <T>(lowered: LoweredProgram, use: (path: string) => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
  readonly emit: (item: Exclude<ExplainItem, Done>) => void;
}

const units = {
  "cpu-ane": "CPU and Neural Engine",
  all: "all units",
  "cpu-gpu": "CPU and GPU",
  cpu: "the CPU",
} as const;

export async function explainFailure(request: ExplainRequest): Promise<Done> {
  const { model, target, phase, signal } = request;
  const route = await routeOf(model, target, phase, signal);
  const search = new Search(request, route);
  const truth = request.keeper.system()?.truth ?? "simulated";
  const parts = route.parts.filter(({ side }) => side === "coreml");
  const base = { kind: "done", truth, code: null, message: null, failure: null, culprits: [], ways: [] } as const;
  if (route.lowered === undefined)
    return {
      ...base,
      result: "compiles",
      tries: 0,
      sentence: "Core ML runs no part of this graph: nothing is compiled.",
    };

  const whole = await search.whole(parts);
  if (whole.result === "ok") {
    const beside =
      whole.failure === null
        ? ""
        : ` One of its compilers failed all the same: ${whole.failure.title}. The system went on without it.`;
    const sentence = `It compiles, loads and runs once on ${units[target.units]}.${beside}`;
    return { ...base, result: "compiles", tries: search.tries, sentence, failure: whole.failure };
  }
  const refusal = { code: whole.code, message: whole.message, failure: whole.failure };
  const said = whole.failure?.title ?? whole.message ?? "it fails";
  for (const part of parts) {
    if (!(await search.fails(part.nodes))) continue;
    const found = await smallestFailing(part.nodes, (piece) => search.fails(piece), request.most);
    const culprits = found.items.map((id) => culpritOf(route.graph, id));
    const ways = await search.ways(found.items);
    const names = culprits.map(({ title }) => title).join(", ");
    const alone = culprits.length === 1 ? `${names} alone` : `these ${culprits.length} operations together: ${names}`;
    return {
      ...base,
      ...refusal,
      result: found.stopped ? "stopped" : "fails",
      culprits,
      ways,
      tries: search.tries,
      sentence: found.stopped
        ? `Stopped after ${search.tries} pieces. The smallest that fails so far has ${culprits.length} operations: ${said}.`
        : `Core ML refuses ${alone}. ${said}. Found with ${search.tries} compiles.`,
    };
  }
  const states = route.graph.states.length;
  const missing =
    states > 0 ? ` What the whole has and its pieces have not: ${states} states that it keeps itself.` : "";
  return {
    ...base,
    ...refusal,
    result: "only whole",
    ways: await search.ways(undefined),
    tries: search.tries,
    sentence: `The whole program fails, and no piece of it does by itself. ${said}.${missing}`,
  };
}

/** "blk.3/attention · softmax", and the shape that it makes. */
export function culpritOf(graph: Graph, id: number): Culprit {
  const node = graph.nodes[id];
  const [origin] = node?.origins ?? [];
  const place = [origin?.scope, origin?.label].filter((part) => part !== undefined && part !== "").join("/");
  const op = node?.op ?? "";
  const type = node?.outputs[0];
  return {
    node: id,
    op,
    title: place === "" || place === op ? op : `${place} (${op})`,
    shape: type === undefined ? "" : `${type.dtype}[${type.shape.join(",")}]`,
  };
}

class Search {
  tries = 0;
  readonly #request: ExplainRequest;
  readonly #route: Route;
  #reference: TriedPiece | undefined;
  readonly #started = performance.now();

  constructor(request: ExplainRequest, route: Route) {
    this.#request = request;
    this.#route = route;
  }

  /** The program as it runs: the parts of a cut graph one by one, up to the first that fails. Its failure is looked for. */
  async whole(parts: readonly Part[]): Promise<TriedPiece> {
    const { units: on } = this.#request.target;
    for (const part of parts) {
      const tried =
        parts.length === 1 ? await this.#wholeGraph(this.#route, on) : await this.#piece(this.#route, part.nodes, on);
      if (tried === undefined) continue;
      if (tried.result !== "ok") this.#reference = tried;
      this.#tell(part.nodes.length, tried);
      if (tried.result !== "ok" || part === parts.at(-1)) return tried;
    }
    throw new WorkbenchError("UNSUPPORTED_OP", "[compiles] got a graph, expected parts that Core ML can compile", {
      hint: "The route names what stays with the host.",
    });
  }

  /** With its states, as a single function. */
  async #wholeGraph(route: Route, on: TargetSpec["units"]): Promise<TriedPiece | undefined> {
    const { lowered } = await inSlices(lowerGraph(route.graph, loweringOf(route.target)), this.#request.signal);
    return lowered === undefined ? undefined : this.#try(lowered, on, "The whole program");
  }

  /** Whether these operations alone fail as the whole does. */
  async fails(nodes: readonly number[]): Promise<boolean> {
    const tried = await this.#piece(this.#route, nodes, this.#request.target.units);
    if (tried === undefined) return false;
    this.#tell(nodes.length, tried);
    return sameFailure(tried, this.#reference);
  }

  /** Other units and another shape, tried with the piece; what else there is, said. */
  async ways(nodes: readonly number[] | undefined): Promise<WayOut[]> {
    const { target, model, phase, signal } = this.#request;
    const ways: WayOut[] = [];
    for (const other of (["cpu-gpu", "cpu"] as const).filter((one) => one !== target.units)) {
      const tried = await this.#again(this.#route, nodes, other);
      const title = `Run it on ${units[other]}`;
      ways.push({ id: "units", title, ...wordsOf(tried), target: { ...target, units: other } });
      if (tried?.result === "ok") break;
    }
    const context = Math.floor(target.context / 2);
    if (!model.isGraphAlone && context >= 64) {
      const shorter = { ...target, context };
      const route = await routeOf(model, shorter, phase, signal);
      // The same operations with other shapes: only then a node's id means the same in both.
      const alike =
        route.graph.nodes.length === this.#route.graph.nodes.length &&
        (nodes ?? []).every((id) => route.graph.nodes[id]?.op === this.#route.graph.nodes[id]?.op);
      const tried = alike ? await this.#again(route, nodes, target.units) : undefined;
      ways.push({ id: "context", title: `A context of ${context} tokens`, ...wordsOf(tried), target: shorter });
    }
    return ways;
  }

  #again(route: Route, nodes: readonly number[] | undefined, on: TargetSpec["units"]): Promise<TriedPiece | undefined> {
    return nodes === undefined ? this.#wholeGraph(route, on) : this.#piece(route, nodes, on);
  }

  /** Undefined: no package can be made of these operations alone. */
  async #piece(route: Route, nodes: readonly number[], on: TargetSpec["units"]): Promise<TriedPiece | undefined> {
    const { signal } = this.#request;
    throwIfCancelled(signal);
    let lowered: LoweredProgram | undefined;
    try {
      ({ lowered } = await inSlices(
        lowerGraph(partOf(opTable, route.graph, nodes).graph, loweringOf(route.target)),
        signal,
      ));
    } catch (error) {
      const { code } = toWireError(error);
      if (code === "CANCELLED" || code.startsWith("BUG_")) throw error;
      return undefined;
    }
    if (lowered === undefined) return undefined;
    return this.#try(lowered, on, nodes.length === 1 ? "A single operation" : `A piece of ${nodes.length} operations`);
  }

  #try(lowered: LoweredProgram, on: TargetSpec["units"], what: string): Promise<TriedPiece> {
    const { keeper, withPackage, signal, emit } = this.#request;
    this.tries += 1;
    const sentence = `${what} on ${units[on]}, compile ${this.tries}`;
    const phase = (name: string): void =>
      emit({
        kind: "phase",
        name,
        sentence: `${sentence}: ${name}`,
        fraction: null,
        elapsedSeconds: (performance.now() - this.#started) / 1000,
      });
    phase("write");
    return withPackage(lowered, (path) => keeper.tryPiece({ path, units: on, signal, onStage: phase }));
  }

  #tell(ops: number, tried: TriedPiece): void {
    const outcome: Tried["outcome"] =
      tried.result === "ok" ? "compiles" : sameFailure(tried, this.#reference) ? "same failure" : "another failure";
    this.#request.emit({ kind: "tried", count: this.tries, ops, outcome, seconds: tried.seconds });
  }
}

function wordsOf(tried: TriedPiece | undefined): Pick<WayOut, "works" | "sentence"> {
  if (tried === undefined) return { works: null, sentence: "Not tried: there the graph is another one." };
  if (tried.result === "ok") return { works: true, sentence: "Tried: it compiles, loads and runs once." };
  return { works: false, sentence: `Tried: ${tried.failure?.title ?? tried.message ?? "it fails"}.` };
}

const loweringOf = (target: PlanTarget): Parameters<typeof lowerGraph>[1] => ({
  table: opTable,
  entries: coremlEntry,
  profile: target.profile,
  opset: systemOf(target.os).opset,
  functionName: "main",
  levers: leversOf(target),
});

/** By what the messages were read as; where nothing was, by our own code. */
function sameFailure(a: TriedPiece, b: TriedPiece | undefined): boolean {
  if (b === undefined || a.result === "ok" || a.result !== b.result) return false;
  return a.failure === null && b.failure === null ? a.code === b.code : a.failure?.id === b.failure?.id;
}
