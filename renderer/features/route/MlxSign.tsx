/** MLX's support for an op, as a sign with its word: shape first, then colour. */
import type { ReactNode } from "react";
import type { MlxState } from "../../../main/contract/views/mlx.ts";
import styles from "./Route.module.css";

const SIGNS: { readonly [S in MlxState]: string } = { none: "·", native: "■", decomposed: "◧", unsupported: "□" };
const WORDS: { readonly [S in MlxState]: string } = {
  none: "nothing left of it",
  native: "native",
  decomposed: "decomposed",
  unsupported: "unsupported",
};

export function MlxSign({ state }: { readonly state: MlxState }): ReactNode {
  return (
    <span className={styles["sign"]}>
      <i aria-hidden="true">{SIGNS[state]}</i> {WORDS[state]}
    </span>
  );
}
