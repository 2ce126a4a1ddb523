/** What is shown of the tensors, how they are grouped, the file to compare with, and the check. */
import type { ReactNode } from "react";
import type { TensorGrouping } from "../../../main/contract/views/tensors.ts";
import { current } from "../../session/async.ts";
import { sliceHook, useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import type { AgainstSlice } from "./againstSlice.ts";
import type { TensorsSlice } from "./slice.ts";
import { hasValues } from "./slice.ts";
import fields from "../../ui/fields.module.css";
import styles from "./Tensors.module.css";

const useTensors = sliceHook<TensorsSlice & AgainstSlice>();

const VIEWS = [
  { id: "table", text: "Table" },
  { id: "values", text: "Values" },
] as const;

const GROUPINGS: readonly { readonly id: TensorGrouping; readonly title: string }[] = [
  { id: "none", title: "none" },
  { id: "layer", title: "by layer" },
  { id: "role", title: "by role" },
  { id: "type", title: "by type" },
  { id: "form", title: "by form" },
];

export interface ListToolsProps {
  /** Whether the picture is seen now. */
  readonly hasMap: boolean;
  readonly isHeld: boolean;
}

/** Beside the search: how the list is grouped, and the picture of the file. */
export function ListTools({ hasMap, isHeld }: ListToolsProps): ReactNode {
  const grouping = useTensors((state) => state.tensorGrouping);
  const setGrouping = useTensors((state) => state.setTensorGrouping);
  const setMap = useTensors((state) => state.setMapShown);
  return (
    <>
      <ChoiceField
        label="Group"
        value={grouping}
        options={GROUPINGS.filter(({ id }) => id !== "form" || isHeld)}
        onChange={(id) => {
          const next = GROUPINGS.find((each) => each.id === id);
          if (next !== undefined) setGrouping(next.id);
        }}
      />
      <Button
        aria-pressed={hasMap}
        title="The file as a picture: each tensor a box of its bytes"
        onClick={() => setMap(!hasMap)}
      >
        Map
      </Button>
    </>
  );
}

export function Actions(): ReactNode {
  const view = useTensors((state) => state.tensorsView);
  const setView = useTensors((state) => state.setTensorsView);
  const isChosen = useTensors((state) => state.chosenTensor !== null);
  const isWhole = useTensors((state) => hasValues(current(state.model)));
  if (!isWhole) return null;
  const options = VIEWS.map((option) => ({
    ...option,
    disabled: option.id === "values" && !isChosen,
    ...(option.id === "values" && !isChosen ? { hint: "Choose a tensor first" } : {}),
  }));
  return (
    <div className={styles["actions"]}>
      <Segmented label="What to show" value={view} options={options} onChange={setView} />
      <Other />
    </div>
  );
}

function Other(): ReactNode {
  const path = useTensors((state) => state.againstPath);
  const setPath = useTensors((state) => state.setAgainstPath);
  const pick = useSession((state) => state.pickFile);
  const checking = useTensors((state) => state.checkRunning);
  const check = useTensors((state) => state.startCheck);
  const comparing = useTensors((state) => state.againstRunning);
  const compare = useTensors((state) => state.startAgainst);
  const isBusy = checking || comparing;
  return (
    <>
      <input
        className={fields["path"]}
        aria-label="Another file to compare with"
        placeholder="Another file of this model, or its folder: the path"
        value={path}
        spellCheck={false}
        disabled={isBusy}
        onChange={(event) => setPath(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") void compare();
        }}
      />
      {pick === null ? null : (
        <Button
          disabled={isBusy}
          onClick={() => {
            void pick().then((chosen) => {
              if (chosen !== null) setPath(chosen);
            });
          }}
        >
          Choose…
        </Button>
      )}
      <Button
        disabled={isBusy || path.trim() === ""}
        title="How far every tensor is from the other file's"
        onClick={() => void compare()}
      >
        Compare
      </Button>
      <Button disabled={isBusy} onClick={() => void check()}>
        Check the file
      </Button>
    </>
  );
}
