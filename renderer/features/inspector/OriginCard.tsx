/** The provenance chain: GGUF tensor → source op → passes → this op → MIL → segment. Each link leads there. */
import type { ReactNode } from "react";
import type { NodeView, OriginStep } from "../../../main/contract/views/graph.ts";
import { BUILT } from "../../../main/contract/views/graph.ts";
import { useSession } from "../../session/context.tsx";
import { Card } from "../../ui/Card.tsx";
import type { InspectorLinks } from "./links.ts";
import styles from "./Inspector.module.css";

export function OriginCard({ node, links }: { readonly node: NodeView; readonly links: InspectorLinks }): ReactNode {
  const select = useSession((state) => state.select);
  const action = (step: OriginStep, i: number): (() => void) | null => {
    const { kind, ref, text } = step;
    // Tensors come first, in the order of the node's weights.
    const tensor = kind === "tensor" ? node.weights[i]?.tensor : undefined;
    if (tensor !== undefined) return () => links.onTensor(tensor);
    if (kind === "pass") return links.isPass(text) ? () => links.onPass(text) : null;
    if (ref === null) return null;
    if (kind === "source") return node.key.stage.step === BUILT ? null : () => links.onSource(ref);
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
          const run = action(step, i);
          return (
            <li key={i} style={{ paddingLeft: Math.min(depth, 6) * 9 }}>
              {depth === 0 ? null : <span aria-hidden="true">└</span>}
              {run === null ? (
                words(step)
              ) : (
                <button type="button" className={styles["link"]} onClick={run}>
                  {words(step)}
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

const words = ({ kind, text }: OriginStep): string => (kind === "pass" ? `made by ${text}` : text);
