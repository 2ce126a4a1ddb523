/**
 * Element-wise regions: a chain of element-wise operations on tensors of one shape becomes one op. What a step gives
 * the next one stays in the first cache, and a chain costs one barrier.
 *
 *   Given:  %a = mul(%x, %s)   %b = tanh(%a)   %y = add(%b, %x)
 *   Result: %y = elementwise_region(%x, %s) {steps = ["mul 0 1", "tanh 2", "add 3 0"], results = [4]}
 *
 * A region stands where its last step stood. It grows from there to what its steps read, the latest first. A node is
 * taken in when its result has the shape of the last step's, and when all that reads it otherwise stands behind the
 * region: then it is one more result. So nothing is computed twice, and no operand can wait for a result.
 */
import type { Fusion, FusionRule } from "../../../ir/fusion.ts";
import type { Graph, Node, NodeId, Value } from "../../../ir/graph.ts";
import { isLeaf, rootsOf, valueKey } from "../../../ir/graph.ts";
import type { Pattern } from "../../../ir/pass.ts";
import { sameShape } from "../../../ir/type.ts";
import { MOST, stepKernel } from "../regionSteps.ts";

const KINDS: ReadonlySet<string> = new Set(["f32", "f16", "bf16", "f64", "bool"]);

/** True for one result of floats or of truth values, of floats and truth values. */
function isStep(pattern: Pattern, node: Node): boolean {
  const [type] = node.outputs;
  return (
    type !== undefined &&
    !isLeaf(node) &&
    stepKernel(node.op, node.attrs) !== undefined &&
    [type, ...node.inputs.map((value) => pattern.typeOf(value))].every(({ dtype }) => KINDS.has(dtype))
  );
}

/** The nodes of one region, in order, and those of them whose result is read outside. */
interface Region {
  readonly nodes: readonly Node[];
  readonly results: readonly Node[];
}

function tooMuch(would: Readonly<Record<keyof typeof MOST, number>>): string | undefined {
  const limits = ["steps", "operands", "results"] as const;
  const over = limits.find((what) => would[what] > MOST[what]);
  return over && `with it the region would have more than ${MOST[over]} ${over}`;
}

/** Regions by their last node; found in one walk from the end. */
class Regions {
  readonly byLast = new Map<NodeId, Region>();
  readonly #pattern: Pattern;
  readonly #graph: Graph;
  /** Of each node: where what reads it stands, a taken node where its region stands. */
  readonly #readers: NodeId[][];
  readonly #standsAt: Int32Array;
  readonly #isRoot: Uint8Array;
  readonly #taken: Uint8Array;

  constructor(pattern: Pattern) {
    const graph = pattern.graph;
    this.#pattern = pattern;
    this.#graph = graph;
    this.#readers = graph.nodes.map(() => []);
    for (const node of graph.nodes) for (const { node: from } of node.inputs) this.#readers[from]?.push(node.id);
    this.#standsAt = Int32Array.from(graph.nodes.keys());
    this.#isRoot = new Uint8Array(graph.nodes.length);
    for (const { node } of rootsOf(graph)) this.#isRoot[node] = 1;
    this.#taken = new Uint8Array(graph.nodes.length);
    for (const last of graph.nodes.toReversed())
      if (this.#taken[last.id] === 0 && isStep(pattern, last)) this.#grow(last);
  }

  #grow(last: Node): void {
    const members = new Map<NodeId, Node>([[last.id, last]]);
    const operands = new Set(last.inputs.map(valueKey));
    let results = 1;
    // The latest that a step reads is next: all that reads it has been decided on.
    const next = new LatestFirst(last.inputs.map(({ node }) => node));
    for (let id = next.take(); id !== undefined; id = next.take()) {
      const node = this.#graph.nodes[id];
      if (node === undefined || this.#taken[id] === 1 || !isStep(this.#pattern, node)) continue;
      const why = this.#misplaced(node, last, members);
      const isResult = this.#isReadOutside(node, members);
      const own = valueKey({ node: node.id, output: 0 });
      const after = new Set([...operands].filter((key) => key !== own).concat(node.inputs.map(valueKey)));
      const would = { steps: members.size + 1, operands: after.size, results: results + Number(isResult) };
      const full = why ?? tooMuch(would);
      if (full !== undefined) {
        this.#pattern.miss(node, full);
        continue;
      }
      members.set(node.id, node);
      operands.clear();
      for (const key of after) operands.add(key);
      results += Number(isResult);
      next.add(node.inputs.map((value) => value.node));
    }
    if (members.size > 1) this.#close(last, members);
  }

  /** Why a node cannot stand where the region that reads it stands. Readers are asked in order, and the first ones tell. */
  #misplaced(node: Node, last: Node, members: ReadonlyMap<NodeId, Node>): string | undefined {
    const [from, to] = [node.outputs[0], last.outputs[0]];
    if (!from || !to || !sameShape(from.shape, to.shape)) return "its shape is not the region's: it is stretched there";
    const before = (reader: NodeId): boolean => !members.has(reader) && (this.#standsAt[reader] ?? 0) < last.id;
    return this.#readers[node.id]?.some(before) === true
      ? "something before the end of the region reads it"
      : undefined;
  }

  #isReadOutside({ id }: Node, members: ReadonlyMap<NodeId, Node>): boolean {
    return this.#isRoot[id] === 1 || this.#readers[id]?.some((reader) => !members.has(reader)) === true;
  }

  #close(last: Node, members: ReadonlyMap<NodeId, Node>): void {
    const nodes = [...members.values()].sort((a, b) => a.id - b.id);
    for (const { id } of nodes) {
      this.#taken[id] = 1;
      this.#standsAt[id] = last.id;
    }
    const results = nodes.filter((node) => node === last || this.#isReadOutside(node, members));
    this.byLast.set(last.id, { nodes, results });
  }
}

/** Numbers, each once, the largest first. */
class LatestFirst {
  readonly #waiting: NodeId[] = [];
  readonly #seen = new Set<NodeId>();

  constructor(first: readonly NodeId[]) {
    this.add(first);
  }

  add(ids: readonly NodeId[]): void {
    for (const id of ids) {
      if (this.#seen.has(id)) continue;
      this.#seen.add(id);
      const at = this.#waiting.findIndex((other) => other > id);
      this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, id);
    }
  }

  take(): NodeId | undefined {
    return this.#waiting.pop();
  }
}

export const elementwiseRegion: Fusion = {
  name: "mark regions",
  reason: "Last: what no other fusion wanted of a chain of element-wise operations is one walk through memory.",
  rules: (pattern): FusionRule => {
    const { byLast } = new Regions(pattern);
    return (node, { map, replace }) => {
      const region = byLast.get(node.id);
      if (region === undefined) return undefined;
      const { nodes, results } = region;
      const members = new Set(nodes.map(({ id }) => id));
      const operands = new Map<string, Value>();
      for (const { inputs } of nodes)
        for (const value of inputs) if (!members.has(value.node)) operands.set(valueKey(value), value);
      const numbers = new Map([...operands.keys()].map((key, i) => [key, i]));
      nodes.forEach(({ id }, i) => numbers.set(valueKey({ node: id, output: 0 }), operands.size + i));
      const numberOf = (value: Value): number => numbers.get(valueKey(value)) ?? 0;
      const steps = nodes.map(({ op, attrs, inputs }) => [stepKernel(op, attrs), ...inputs.map(numberOf)].join(" "));
      const { apply, redirect } = replace(nodes.filter((member) => member !== node));
      const made = apply("elementwise_region", [...operands.values()].map(map), {
        steps,
        results: results.map(({ id }) => numberOf({ node: id, output: 0 })),
      });
      results.forEach((result, i) => {
        const value = made[i];
        if (value && result !== node) redirect({ node: result.id, output: 0 }, value);
      });
      const own = made[results.indexOf(node)];
      return own && [own];
    };
  },
};
