/** What narrows a search down: the values that its hits differ in, as tokens of the search itself. */
import { deviceOf } from "../../main/contract/views/common.ts";
import type { GraphModel } from "./graphModel.ts";
import { nodeWeight } from "./graphModel.ts";
import { OP_KINDS } from "./opKinds.ts";
import { layerOfGroup } from "./search.ts";

export interface Facet {
  /** As it is typed: "kind:norm". */
  readonly token: string;
  readonly text: string;
  readonly hits: number;
}

/** Of one name, the values that most hits have. */
const MOST_OF_A_NAME = 6;

export function facetsOf(
  model: GraphModel,
  hits: readonly number[],
  device: ArrayLike<number> | null,
): readonly Facet[] {
  const { view } = model;
  const layers = layerOfGroup(model);
  const count = (
    name: string,
    textOf: (value: string) => string,
    valueOf: (node: number) => string | null,
  ): Facet[] => {
    const counts = new Map<string, number>();
    for (const node of hits) {
      const value = valueOf(node);
      if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    return [...counts]
      .filter(([, n]) => n < hits.length)
      .sort((a, b) => b[1] - a[1])
      .slice(0, MOST_OF_A_NAME)
      .map(([value, n]) => ({ token: `${name}:${value}`, text: textOf(value), hits: n }));
  };
  const same = (value: string): string => value;
  return [
    ...count("kind", same, (node) => OP_KINDS[model.kinds[node] ?? 0] ?? null),
    ...count(
      "dev",
      (value) => value.toUpperCase(),
      (node) => {
        const at = deviceOf(device?.[node] ?? 0);
        return at === "none" ? null : at;
      },
    ),
    ...count("dtype", same, (node) => nodeWeight(view, node).split(" ", 1)[0] || null),
    ...count(
      "layer",
      (value) => `block ${value}`,
      (node) => {
        const layer = layers[view.nodes.group[node] ?? 0] ?? -1;
        return layer < 0 ? null : String(layer);
      },
    ),
  ];
}

const tokensOf = (query: string): readonly string[] => query.split(/\s+/).filter((token) => token !== "");

export const hasFacet = (query: string, token: string): boolean =>
  tokensOf(query).some((each) => each.toLowerCase() === token);

/** Puts a token into a search, or takes it out again. */
export function withFacet(query: string, token: string): string {
  const rest = tokensOf(query).filter((each) => each.toLowerCase() !== token);
  return (hasFacet(query, token) ? rest : [...rest, token]).join(" ");
}
