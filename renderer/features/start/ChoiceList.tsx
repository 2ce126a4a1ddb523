/** Several models were dropped or lie in a folder: which one is opened. */
import type { ReactNode } from "react";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { Item } from "./Item.tsx";
import { sizeText } from "./Recents.tsx";
import type { Choice, StartSlice } from "./slice.ts";
import styles from "./Start.module.css";

const useStart = sliceHook<StartSlice>();

interface ChoiceListProps {
  readonly choice: Choice;
  readonly onMeasure: (first: string, other: string) => void;
}

export function ChoiceList({ choice, onMeasure }: ChoiceListProps): ReactNode {
  const choose = useStart((state) => state.choose);
  const pair = twoPaths(choice);
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
      {pair === null ? null : (
        <Button onClick={() => onMeasure(pair[0], pair[1])}>Which of the two is faster here?</Button>
      )}
      {choice.note === null ? null : <p className={styles["quiet"]}>{choice.note}</p>}
    </div>
  );
}

/** Of two models that both lie on the engine's machine. */
function twoPaths({ options }: Choice): readonly [string, string] | null {
  const paths = options.flatMap(({ source, problem }) =>
    source.kind === "path" && problem === null ? [source.path] : [],
  );
  const [first, other] = paths;
  return paths.length === 2 && first !== undefined && other !== undefined ? [first, other] : null;
}
