/** What a run of a graph is asked with: of the form only what the graph has. A text is edited, and the form stays. */
import type { TextReport } from "../../../main/contract/views/text.ts";
import type { GraphRunForm } from "./slice.ts";

/** The names in the shapes of types. */
export const symbolsOf = (types: readonly string[]): readonly string[] => [
  ...new Set(
    types.flatMap((type) => [...type.replace(/^[^[]*/u, "").matchAll(/[A-Za-z_]\w*/gu)].map(([symbol]) => symbol)),
  ),
];

const only = <T>(given: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(given).filter(([name]) => names.includes(name)));

/** All of the form where the graph is not read. */
export function askedOf(
  { seed, symbols, inputs }: GraphRunForm,
  graph: TextReport["graph"],
): Pick<GraphRunForm, "seed" | "symbols" | "inputs"> {
  if (graph === null) return { seed, symbols, inputs };
  const types = [...graph.inputs, ...graph.params, ...graph.states, ...graph.outputs].map(({ type }) => type);
  const names = graph.inputs.map(({ name }) => name);
  return { seed, symbols: only(symbols, symbolsOf(types)), inputs: only(inputs, names) };
}
