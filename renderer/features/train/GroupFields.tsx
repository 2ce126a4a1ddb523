/** Groups of parameters: Muon for matrices and AdamW for the rest, or a slower embedding. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { TypedField } from "../../ui/TypedField.tsx";
import type { TrainForm } from "./form.ts";
import type { GroupForm } from "./groups.ts";
import { groupKey, NEW_GROUP } from "./groups.ts";
import { useProblems } from "./useAsked.ts";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

export function GroupFields({ form }: { readonly form: TrainForm }): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const optimizers = useTrain((s) => current(s.trainRecipes)?.optimizers) ?? [];
  const problems = useProblems();
  const { groups } = form;
  const give = (at: number, part: Partial<GroupForm>): void =>
    set({ groups: groups.map((group, i) => (i === at ? { ...group, ...part } : group)) });
  const owners = [
    { id: "", title: `The run’s: ${form.optimizer}` },
    ...optimizers.map(({ name }) => ({ id: name, title: name })),
  ];
  return (
    <>
      {groups.map((group, i) => (
        <fieldset key={i} className={styles["group"]}>
          <legend>Group {i + 1}</legend>
          <div className={styles["fields"]}>
            <TypedField
              label="Names"
              hint="Parts of names with commas between; * stands for anything. Empty: any."
              value={group.names}
              problem={problems[groupKey(i, "names")] ?? null}
              onChange={(names) => give(i, { names })}
            />
            <TypedField
              label="Rank"
              hint="1 for vectors, 2 for matrices. Empty: any."
              value={group.rank}
              problem={problems[groupKey(i, "rank")] ?? null}
              onChange={(rank) => give(i, { rank })}
            />
            <ChoiceField
              label="Optimizer"
              value={group.optimizer}
              options={owners}
              onChange={(optimizer) => give(i, { optimizer, options: {} })}
            />
            <TypedField
              label="Learning rate"
              hint="On the run’s schedule. Empty: the run’s own."
              value={group.lr}
              problem={problems[groupKey(i, "lr")] ?? null}
              onChange={(lr) => give(i, { lr })}
            />
            <Button small onClick={() => set({ groups: groups.filter((_, at) => at !== i) })}>
              Remove group {i + 1}
            </Button>
          </div>
        </fieldset>
      ))}
      <Button small onClick={() => set({ groups: [...groups, NEW_GROUP] })}>
        Add a group
      </Button>
    </>
  );
}
