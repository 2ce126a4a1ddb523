/** The sign of an op's kind, in grey: colours are for devices. */
import type { ReactNode } from "react";
import type { OpKind } from "../../graph/opKinds.ts";
import { kindLook } from "../../graph/opKinds.ts";
import styles from "./GraphCard.module.css";

export function KindGlyph({ kind }: { readonly kind: OpKind }): ReactNode {
  return (
    <svg className={styles["kind"]} viewBox="0 0 10 10" role="img" aria-label={kind}>
      <path d={kindLook(kind).glyph} fillRule="evenodd" />
    </svg>
  );
}
