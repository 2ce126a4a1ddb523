/** Builds a `GraphView` by hand, for scripted engines and tests: nodes in program order, groups as a tree. */
import type { GraphKey, GraphView } from "../../main/contract/views/graph.ts";
import { GROUP_KINDS, NODE_FLAGS } from "../../main/contract/views/graph.ts";

type Flag = keyof typeof NODE_FLAGS;
export interface NodeInit {
  readonly op: string;
  readonly name?: string;
  readonly type?: string;
  readonly weight?: string;
  readonly inputs?: readonly number[];
  readonly bytes?: number;
  readonly flags?: readonly Flag[];
}

interface GroupRow {
  readonly parent: number;
  readonly kind: number;
  readonly name: number;
  readonly structure: number;
  readonly note: number;
  readonly words: number;
}

export class GraphBuilder {
  readonly #strings: string[] = [""];
  readonly #stringIndex = new Map<string, number>([["", 0]]);
  readonly #nodes: {
    op: number;
    name: number;
    type: number;
    weight: number;
    group: number;
    flags: number;
    bytes: number;
    inputs: readonly number[];
  }[] = [];
  readonly #groups: GroupRow[] = [];
  #current = -1;

  constructor(title: string) {
    this.openGroup(title, "model", 0);
  }

  #string(text: string): number {
    const known = this.#stringIndex.get(text);
    if (known !== undefined) return known;
    this.#stringIndex.set(text, this.#strings.length);
    return this.#strings.push(text) - 1;
  }

  openGroup(name: string, kind: (typeof GROUP_KINDS)[number], structure: number, note = "", words = ""): number {
    this.#groups.push({
      parent: this.#current,
      kind: GROUP_KINDS.indexOf(kind),
      name: this.#string(name),
      structure,
      note: this.#string(note),
      words: this.#string(words),
    });
    this.#current = this.#groups.length - 1;
    return this.#current;
  }

  closeGroup(): void {
    this.#current = this.#groups[this.#current]?.parent ?? -1;
  }

  node({ op, name = op, type = "", weight = "", inputs = [], bytes = 0, flags = [] }: NodeInit): number {
    let bits = 0;
    for (const flag of flags) bits |= NODE_FLAGS[flag];
    this.#nodes.push({
      op: this.#string(op),
      name: this.#string(name),
      type: this.#string(type),
      weight: this.#string(weight),
      group: this.#current,
      flags: bits,
      bytes,
      inputs,
    });
    return this.#nodes.length - 1;
  }

  finish(key: GraphKey, title: string): GraphView {
    const nodes = this.#nodes;
    const sources = nodes.flatMap(({ inputs }) => inputs);
    const start = new Uint32Array(nodes.length + 1);
    nodes.forEach(({ inputs }, i) => (start[i + 1] = (start[i] ?? 0) + inputs.length));
    const { firstNode, nodeCount } = this.#extents();
    const column = (pick: (node: (typeof nodes)[number]) => number): Uint32Array => Uint32Array.from(nodes, pick);
    const groupColumn = (pick: (group: GroupRow) => number): Uint32Array => Uint32Array.from(this.#groups, pick);
    return {
      key,
      title,
      nodeCount: nodes.length,
      edgeCount: sources.length,
      strings: this.#strings,
      nodes: {
        id: Uint32Array.from(nodes, (_, i) => i),
        op: column(({ op }) => op),
        name: column(({ name }) => name),
        type: column(({ type }) => type),
        weight: column(({ weight }) => weight),
        group: column(({ group }) => group),
        flags: Uint8Array.from(nodes, ({ flags }) => flags),
        bytesRead: Float32Array.from(nodes, ({ inputs }) =>
          inputs.reduce((sum, from) => sum + (nodes[from]?.bytes ?? 0), 0),
        ),
      },
      edges: {
        start,
        source: Uint32Array.from(sources),
        output: new Uint8Array(sources.length),
        type: Uint32Array.from(sources, (from) => nodes[from]?.type ?? 0),
        bytes: Float32Array.from(sources, (from) => nodes[from]?.bytes ?? 0),
      },
      groups: {
        parent: Int32Array.from(this.#groups, ({ parent }) => parent),
        kind: Uint8Array.from(this.#groups, ({ kind }) => kind),
        name: groupColumn(({ name }) => name),
        structure: groupColumn(({ structure }) => structure),
        firstNode,
        nodeCount,
        note: groupColumn(({ note }) => note),
        words: groupColumn(({ words }) => words),
      },
    };
  }

  #extents(): { firstNode: Uint32Array; nodeCount: Uint32Array } {
    const firstNode = new Uint32Array(this.#groups.length).fill(0xffffffff);
    const nodeCount = new Uint32Array(this.#groups.length);
    this.#nodes.forEach((node, index) => {
      for (let at = node.group; at >= 0; at = this.#groups[at]?.parent ?? -1) {
        firstNode[at] = Math.min(firstNode[at] ?? index, index);
        nodeCount[at] = (nodeCount[at] ?? 0) + 1;
      }
    });
    return { firstNode, nodeCount };
  }
}
