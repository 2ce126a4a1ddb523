/** What is seldom changed, folded: the optimiser's options, the schedule, clipping, validation, samples, checkpoints. */
import type { ReactNode } from "react";
import { current } from "../../session/async.ts";
import { TypedField } from "../../ui/TypedField.tsx";
import type { TrainForm } from "./form.ts";
import { canQuantize, optionKey, SCHEDULES } from "./form.ts";
import { GroupFields } from "./GroupFields.tsx";
import type { FormProps } from "./MainFields.tsx";
import { FormNumber } from "./MainFields.tsx";
import { PathField } from "./Places.tsx";
import { useProblems } from "./useAsked.ts";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

export function Advanced({ recipe, form }: FormProps): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const samples = recipe.defaults.sample !== null;
  return (
    <details className={styles["more"]}>
      <summary>More settings</summary>
      <Group title="The rate over the run">
        {SCHEDULES[form.schedule].numbers.map((name) => (
          <FormNumber key={name} name={name} form={form} />
        ))}
      </Group>
      <Group title={`Options of ${form.optimizer}`}>
        <Options form={form} />
      </Group>
      <Group title="Parameters that are trained in another way">
        <GroupFields form={form} />
      </Group>
      <Group title="Gradients and weights">
        <FormNumber name="accumulate" form={form} />
        <FormNumber name="average" form={form} />
        <FormNumber name="clipNorm" form={form} />
        <FormNumber name="clipValue" form={form} />
        <FormNumber name="normsEvery" form={form} />
      </Group>
      {canQuantize(recipe) ? (
        <Group title="In few bits">
          <FormNumber name="weightBits" form={form} />
          <FormNumber name="activationBits" form={form} />
          <FormNumber name="quantizeAfter" form={form} />
          <FormNumber name="calibrationBatches" form={form} />
        </Group>
      ) : null}
      <Group title="Validation">
        <FormNumber name="validationEvery" form={form} />
        <FormNumber name="validationShare" form={form} />
        <FormNumber name="seed" form={form} />
      </Group>
      {samples ? (
        <Group title="Samples of its words">
          <FormNumber name="sampleEvery" form={form} />
          <FormNumber name="sampleTokens" form={form} />
          <FormNumber name="temperature" form={form} />
          <TypedField
            label="Begin with"
            hint="What the model goes on from."
            value={form.prompt}
            problem={null}
            onChange={(prompt) => set({ prompt })}
          />
        </Group>
      ) : null}
      <Group title="Name and checkpoints">
        <TypedField
          label="Name"
          hint="What the run is called in the list."
          value={form.title}
          placeholder={recipe.title}
          problem={null}
          onChange={(title) => set({ title })}
        />
        {form.checkpoint.trim() === "" ? null : <FormNumber name="checkpointEvery" form={form} />}
      </Group>
      <div className={styles["places"]}>
        <PathField
          label="Checkpoint"
          value={form.checkpoint}
          placeholder="None"
          hint="A file with everything that the next step depends on, so that a run can go on later with the same bits."
          problem={null}
          picks={false}
          onChange={(checkpoint) => set({ checkpoint })}
        />
        <PathField
          label="Go on from"
          value={form.resume}
          placeholder="The first step"
          hint="A checkpoint of a run with the same settings."
          problem={null}
          onChange={(resume) => set({ resume })}
        />
      </div>
    </details>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }): ReactNode {
  return (
    <fieldset className={styles["group"]}>
      <legend>{title}</legend>
      <div className={styles["fields"]}>{children}</div>
    </fieldset>
  );
}

function Options({ form }: { readonly form: TrainForm }): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const known = useTrain(
    (s) => current(s.trainRecipes)?.optimizers.find(({ name }) => name === form.optimizer)?.options,
  );
  const problems = useProblems();
  const options = Object.entries(known ?? {});
  if (options.length === 0) return <p className={styles["says"]}>It has none.</p>;
  return options.map(([id, usual]) => {
    const value = form.options[id] ?? String(usual);
    const give = (text: string): void => set({ options: { ...form.options, [id]: text } });
    return typeof usual === "boolean" ? (
      <label key={id} className={styles["check"]}>
        <input type="checkbox" checked={value === "true"} onChange={(event) => give(String(event.target.checked))} />
        {id}
      </label>
    ) : (
      <TypedField
        key={id}
        label={id}
        hint={`${String(usual)} where nothing else is said.`}
        value={value}
        problem={problems[optionKey(id)] ?? null}
        onChange={give}
      />
    );
  });
}
