/** The numbers that matter in every run, and the recipe's own. */
import type { ReactNode } from "react";
import type { TrainField, TrainRecipe } from "../../../main/contract/views/train.ts";
import { precision } from "../../../main/contract/views/graph.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { PRECISIONS } from "../../devices/precisions.ts";
import { current } from "../../session/async.ts";
import { ChoiceField } from "../../ui/fields.tsx";
import { Hint } from "../../ui/Hint.tsx";
import { TypedField } from "../../ui/TypedField.tsx";
import type { NumberName, ScheduleKind, TrainForm } from "./form.ts";
import { fieldKey, NUMBERS, SCHEDULES } from "./form.ts";
import { useProblems } from "./useAsked.ts";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

export interface FormProps {
  readonly recipe: TrainRecipe;
  readonly form: TrainForm;
}

export function FormNumber({ name, form }: { readonly name: NumberName; readonly form: TrainForm }): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const problems = useProblems();
  const { label, about } = NUMBERS[name];
  return (
    <TypedField
      label={label}
      hint={about}
      value={form.numbers[name]}
      problem={problems[name] ?? null}
      onChange={(text) => set({ numbers: { ...form.numbers, [name]: text } })}
    />
  );
}

export function MainFields({ recipe, form }: FormProps): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const optimizers = useTrain((s) => current(s.trainRecipes)?.optimizers) ?? [];
  const update = useTrain((s) => current(s.trainRecipes)?.devices.find(({ id }) => id === form.device)?.update);
  return (
    <div className={styles["fields"]} role="group" aria-label="How">
      <FormNumber name="steps" form={form} />
      <FormNumber name="batch" form={form} />
      <FormNumber name="lr" form={form} />
      <ChoiceField
        label="Schedule"
        value={form.schedule}
        options={(Object.keys(SCHEDULES) as ScheduleKind[]).map((id) => ({ id, title: SCHEDULES[id].title }))}
        onChange={(id) => set({ schedule: id as ScheduleKind })}
      />
      <ChoiceField
        label="Optimizer"
        value={form.optimizer}
        options={optimizers.map(({ name }) => ({ id: name, title: name }))}
        onChange={(optimizer) => set({ optimizer, options: optionsOf(recipe, optimizer) })}
      />
      <ChoiceField
        label="Precision"
        value={form.precision}
        options={PRECISIONS}
        onChange={(id) => set({ precision: precision.parse(id) })}
      />
      <span className={styles["device"]}>
        <DevicePicker
          besideFields
          label="Trained on"
          lead="On"
          needs="train"
          value={form.device}
          onChange={(device) => set({ device })}
        />
      </span>
      <Hint text={update?.reason ?? "The update of the weights runs in the graph of the step."}>
        <label className={styles["check"]}>
          <input type="checkbox" checked={form.fused} onChange={(event) => set({ fused: event.target.checked })} />
          Update on the device
        </label>
      </Hint>
      {recipe.fields.map((field) => (
        <OwnField key={field.id} field={field} form={form} />
      ))}
    </div>
  );
}

/** Of the recipe's own optimiser those of the recipe; another begins with its own. */
const optionsOf = (recipe: TrainRecipe, optimizer: string): TrainForm["options"] => {
  const { name, options } = recipe.defaults.optimizer;
  return optimizer === name
    ? Object.fromEntries(Object.entries(options).map(([id, value]) => [id, String(value)]))
    : {};
};

function OwnField({ field, form }: { readonly field: TrainField; readonly form: TrainForm }): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const problems = useProblems();
  const { id, label, about, kind, choices } = field;
  const value = form.fields[id] ?? String(field.value);
  const give = (text: string): void => set({ fields: { ...form.fields, [id]: text } });
  if (kind === "choice")
    return (
      <ChoiceField
        label={label}
        value={value}
        options={choices.map((choice) => ({ id: choice, title: choice }))}
        onChange={give}
      />
    );
  return (
    <TypedField label={label} hint={about} value={value} problem={problems[fieldKey(id)] ?? null} onChange={give} />
  );
}
