/** The selection, which the whole window shares. */
import type { GraphKey } from "../../main/contract/views/graph.ts";

/** What the inspector speaks about. Node and group numbers belong to the graph with that key. */
export type Selection =
  | { readonly kind: "none" }
  | { readonly kind: "node"; readonly key: GraphKey; readonly node: number }
  | { readonly kind: "group"; readonly group: number }
  | { readonly kind: "segment"; readonly index: number }
  | { readonly kind: "hop"; readonly index: number }
  | { readonly kind: "pass"; readonly index: number };
