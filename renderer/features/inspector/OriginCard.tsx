/** The provenance chain: GGUF tensor → source op → passes → this op → MIL → segment. Each link leads there. */
import type { ReactNode } from "react";
import type { NodeView, OriginStep } from "../../../main/contract/views/graph.ts";
import { useSession } from "../../session/context.tsx";
import { Card } from "../../ui/Card.tsx";
import type { InspectorLinks } from "./Inspector.tsx";
import styles from "./Inspector.module.css";

export function OriginCard({ node, links }: { readonly node: NodeView; readonly links: InspectorLinks }): ReactNode {
  const select = useSession((state) => state.select);
  const action = (step: OriginStep): (() => void) | null => {
    const { kind, ref } = step;
    if (ref === null) return null;
    if (kind === "pass") return () => links.onPass(ref);
    if (kind === "mil") return () => links.onMil(ref);
    if (kind === "segment") return () => select({ kind: "segment", index: ref });
    return kind === "node" && ref !== node.node ? () => links.onNode(ref) : null;
  };
  // Tensors stand side by side at the top; from there each step is one further in.
  let depth = 0;
  return (
    <Card title="Came from">
      <ul className={styles["origin"]}>
        {node.origin.map((step, i) => {
          if (step.kind !== "tensor") depth += 1;
          const run = action(step);
          return (
            <li key={i} style={{ paddingLeft: Math.min(depth, 6) * 9 }}>
              {depth === 0 ? "" : <span aria-hidden="true">└ </span>}
              {run === null ? (
                step.text
              ) : (
                <button type="button" className={styles["link"]} onClick={run}>
                  {step.text}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
