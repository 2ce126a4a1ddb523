/** What is trained on and of what, and where the result goes: paths on the engine's machine. */
import type { ReactNode } from "react";
import { useId } from "react";
import type { FormProps } from "./MainFields.tsx";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import fields from "../../ui/fields.module.css";
import { useProblems } from "./useAsked.ts";
import { useTrain } from "./useTrain.ts";
import styles from "./Train.module.css";

export function Places({ recipe, form }: FormProps): ReactNode {
  const set = useTrain((s) => s.setTrain);
  const open = useTrain((s) => current(s.model)?.title ?? null);
  const suggested = useTrain((s) => current(s.trainPlan)?.suggestedPath ?? "");
  const problems = useProblems();
  const id = useId();
  // What a model learned is a GGUF, too; a graph gives its weights.
  const ofModel = recipe.result.ending === "gguf";
  return (
    <div className={styles["places"]}>
      {recipe.needs === "model" ? (
        <PathField
          label="Model"
          value={form.model}
          placeholder={open === null ? `Path of a ${ofModel ? "GGUF" : "graph (.rlx)"}` : `What is open: ${open}`}
          hint={`The ${ofModel ? "file that is adapted" : "graph whose parameters are trained"}. It is read and never written.`}
          problem={problems["model"] ?? null}
          onChange={(model) => set({ model })}
        />
      ) : null}
      {recipe.dataSentence === null ? null : (
        <PathField
          label="Data"
          value={form.data}
          placeholder={recipe.needs === "nothing" ? "The recipe’s own" : `A file: ${recipe.dataEndings.join(", ")}`}
          hint={recipe.dataSentence}
          problem={problems["data"] ?? null}
          onChange={(data) => set({ data })}
        />
      )}
      <div className={styles["result"]}>
        <label className={styles["check"]}>
          <input
            type="checkbox"
            checked={form.writes}
            aria-describedby={id}
            onChange={(event) => set({ writes: event.target.checked })}
          />
          Write the result
        </label>
        <em id={id} className={fields["hint"]}>
          {recipe.result.sentence}
        </em>
      </div>
      {form.writes ? (
        <>
          <PathField
            label="To"
            value={form.output}
            placeholder={suggested === "" ? `Path of a .${recipe.result.ending}` : suggested}
            hint=""
            problem={null}
            picks={false}
            onChange={(output) => set({ output })}
          />
          <label className={styles["check"]}>
            <input
              type="checkbox"
              checked={form.overwrite}
              onChange={(event) => set({ overwrite: event.target.checked })}
            />
            In place of a file that is there
          </label>
        </>
      ) : null}
    </div>
  );
}

interface PathFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly hint: string;
  readonly problem: string | null;
  /** The system's dialog for a file that is there; true unless said otherwise. */
  readonly picks?: boolean;
  readonly onChange: (path: string) => void;
}

export function PathField({
  label,
  value,
  placeholder,
  hint,
  problem,
  picks = true,
  onChange,
}: PathFieldProps): ReactNode {
  const pick = useTrain((s) => s.pickFile);
  const id = useId();
  return (
    <div className={styles["path"]}>
      <label htmlFor={id}>{label}</label>
      <span className={styles["pathRow"]}>
        <input
          id={id}
          className={fields["path"]}
          value={value}
          placeholder={placeholder}
          spellCheck={false}
          autoComplete="off"
          aria-invalid={problem !== null}
          aria-describedby={`${id}-says`}
          onChange={(event) => onChange(event.target.value)}
        />
        {pick === null || !picks ? null : (
          <Button small onClick={() => void pick().then((path) => (path === null ? undefined : onChange(path)))}>
            Choose…
          </Button>
        )}
      </span>
      <span id={`${id}-says`} className={styles["says"]}>
        {problem === null ? (
          hint
        ) : (
          <em role="alert" className={fields["problem"]}>
            {problem}
          </em>
        )}
      </span>
    </div>
  );
}
