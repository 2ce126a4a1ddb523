/** Several models were dropped or lie in a folder: which one is opened. */
import type { ReactNode } from "react";
import { sliceHook } from "../../session/context.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { Item } from "./Item.tsx";
import { sizeText } from "./Recents.tsx";
import type { Choice, StartSlice } from "./slice.ts";
import styles from "./Start.module.css";

const useStart = sliceHook<StartSlice>();

export function ChoiceList({ choice }: { readonly choice: Choice }): ReactNode {
  const choose = useStart((state) => state.choose);
  return (
    <div className={styles["choices"]} role="group" aria-label="Models to open">
      {choice.options.map((option, i) => (
        <button
          key={i}
          type="button"
          className={styles["item"]}
          disabled={option.problem !== null}
          onClick={() => choose(option)}
        >
          <Item
            glyph={deviceLook("cpu").glyph}
            kind="A model"
            title={option.name}
            sentence={option.problem ?? option.detail}
            aside={sizeText(null, option.bytes)}
          />
        </button>
      ))}
      {choice.note === null ? null : <p className={styles["quiet"]}>{choice.note}</p>}
    </div>
  );
}
