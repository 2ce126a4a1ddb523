/**
 * What a block does, in words that tell it from other blocks of its model: "window of 512, 2 of 8 experts". And of a group
 * of experts, how many of them a token has.
 */
import type { Graph, Node } from "../../ir/graph.ts";
import type { GroupTree } from "./groups.ts";

const ATTENTION = new Set(["attention", "attention_cached", "attention_packed", "attention_block"]);
/** What a layer does instead of attending, or beside it, by the role of what it keeps; the first that is there counts. */
const RECURRENT = [
  ["delta", "delta net"],
  ["ssm", "state space"],
  ["wkv", "recurrence"],
  ["conv", "short convolution"],
] as const;

/** Parts that say nothing of how a block mixes tokens. */
const OTHER_PARTS = new Set(["ffn", "positions", "per_layer", "router", "experts", "shared", "dense", "mixture"]);

/** For each group its words; "" for groups without. */
export function groupWords(graph: Graph, { groups, of }: GroupTree): readonly string[] {
  const attention = new Map<number, Set<string>>();
  const experts = new Map<number, string>();
  /** Roles of the states in each block; products of a recurrence may have been decomposed, what it keeps stays. */
  const kept = new Map<number, Set<string>>();
  const around = (node: Node, visit: (group: number) => void): void => {
    for (let at = of[node.id] ?? 0; at > 0; at = groups[at]?.parent ?? -1) visit(at);
  };
  for (const node of graph.nodes) {
    if (ATTENTION.has(node.op)) {
      const words = attentionWords(graph, node, blockOf(node));
      around(node, (group) => {
        const known = attention.get(group) ?? new Set();
        attention.set(group, known.add(words));
      });
    }
    const { name } = node.attrs;
    if (node.op === "state" && typeof name === "string")
      around(node, (group) => kept.set(group, (kept.get(group) ?? new Set()).add(name.split(".")[0] ?? name)));
    const picked = pickWords(graph, node, partOf(node));
    if (picked !== undefined) around(node, (group) => experts.set(group, picked));
  }
  return groups.map((group, index) => {
    const picked = experts.get(index);
    if (group.kind === "part") return group.name === "experts" && picked !== undefined ? picked : "";
    if (group.kind !== "block") return "";
    const recurrent = RECURRENT.find(([role]) => kept.get(index)?.has(role) === true)?.[1];
    const attends = [...(attention.get(index) ?? [])];
    const known = [...attends, ...(recurrent === undefined ? [] : [recurrent])];
    const mixing = known.length > 0 ? known : partsOf(index);
    return [...mixing, ...(picked === undefined ? [] : [`${picked} experts`])].join(", ");
  });

  /** The name of its part, whatever op of it the node came from. */
  function partOf(node: Node): string | undefined {
    const own = groups[of[node.id] ?? 0];
    return own?.kind === "op" ? groups[own.parent]?.name : own?.name;
  }

  function blockOf(node: Node): number {
    let block = -1;
    around(node, (group) => {
      if (groups[group]?.kind === "block") block = group;
    });
    return block;
  }

  function attentionWords({ nodes }: Graph, node: Node, block: number): string {
    const { window, chunk } = node.attrs;
    const sees =
      typeof window === "number"
        ? `window of ${window + 1}`
        : typeof chunk === "number"
          ? `chunks of ${chunk}`
          : "full attention";
    const keys =
      node.op === "attention_cached" || node.op === "attention_packed" ? nodes[node.inputs[1]?.node ?? -1] : undefined;
    const isShared = keys !== undefined && keys.op !== "state" && block >= 0 && blockOf(keys) !== block;
    return isShared ? `${sees} over an earlier layer's caches` : sees;
  }

  function partsOf(block: number): readonly string[] {
    return groups
      .filter(({ parent, kind, name }) => parent === block && kind === "part" && !OTHER_PARTS.has(name))
      .slice(0, 1)
      .map(({ name }) => name.replaceAll("_", " "));
  }
}

/** "2 of 8", of a product of experts, or of the last choice of a router where those are decomposed. */
function pickWords({ nodes }: Graph, node: Node, group: string | undefined): string | undefined {
  const [scores, weight, ids] = node.inputs.map((value) => nodes[value.node]?.outputs[value.output]);
  const isChoice = node.op === "topk" && group === "router";
  if (!isChoice && node.op !== "linear_grouped") return undefined;
  const [count, used] = isChoice ? [scores?.shape.at(-1), node.attrs["k"]] : [weight?.shape[0], ids?.shape[1]];
  return typeof count === "number" && typeof used === "number" ? `${used} of ${count}` : undefined;
}
