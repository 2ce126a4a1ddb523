/** What is trained next: a recipe, on what, the numbers that matter, the rest folded, and what it all comes to. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import type { TrainRecipe } from "../../../main/contract/views/train.ts";
import { current } from "../../session/async.ts";
import { commandText } from "../../session/command.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { cx } from "../../ui/cx.ts";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { count, figureText } from "../../ui/format.ts";
import { saveText } from "../../ui/saveText.ts";
import { Advanced } from "./Advanced.tsx";
import { MainFields } from "./MainFields.tsx";
import { Places } from "./Places.tsx";
import { recipeOf } from "./slice.ts";
import { sentence } from "./words.ts";
import { useTrain } from "./useTrain.ts";
import { useAsked } from "./useAsked.ts";
import styles from "./Train.module.css";

/** A plan reads the data: it is asked for when typing has paused. */
const PAUSE_MS = 350;

export function Choose(): ReactNode {
  const recipes = useTrain((s) => current(s.trainRecipes));
  const form = useTrain((s) => s.trainForm);
  const open = useTrain((s) => current(s.model)?.model);
  const plan = useTrain((s) => s.planTraining);
  useEffect(() => {
    const timer = setTimeout(() => void plan(), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [plan, form, open]);
  const recipe = recipeOf(recipes, form?.recipe);
  if (recipes === null || form === null || recipe === null) return null;
  return (
    <Card title="A new run" aside="on this machine; nothing leaves it">
      <div className={styles["choose"]}>
        <RecipeList recipes={recipes.recipes} chosen={recipe.id} />
        <div className={styles["form"]}>
          <Places recipe={recipe} form={form} />
          <MainFields recipe={recipe} form={form} />
          <Advanced recipe={recipe} form={form} />
          <Planned />
          <Actions />
        </div>
      </div>
    </Card>
  );
}

function RecipeList({
  recipes,
  chosen,
}: {
  readonly recipes: readonly TrainRecipe[];
  readonly chosen: string;
}): ReactNode {
  const choose = useTrain((s) => s.chooseRecipe);
  return (
    <fieldset className={styles["recipes"]}>
      <legend>What</legend>
      {recipes.map(({ id, title, about }) => (
        <label key={id} className={styles["recipe"]} data-chosen={id === chosen}>
          <input type="radio" name="train-recipe" checked={id === chosen} onChange={() => choose(id)} />
          <span>
            <b>{title}</b>
            <em>{about}</em>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** What the form comes to: the data, the sizes, where it runs and why. */
function Planned(): ReactNode {
  const plan = useTrain((s) => s.trainPlan);
  const shown = current(plan);
  if (plan.kind === "failed") return <ErrorNote title="This cannot be planned" error={plan.error} />;
  if (shown === null) return null;
  const { data, parameters, trainedParameters, memory, update, can } = shown;
  return (
    <div className={styles["planned"]} role="status">
      <p>
        {sentence(data)} {count(trainedParameters)} {trainedParameters === parameters ? "" : `of ${count(parameters)} `}
        parameters are trained, in {figureText(memory)} of memory.{" "}
        {update.fused ? "The update runs on the device." : "The update runs beside the device."} {update.reason}
      </p>
      {can.ok ? null : (
        <p className={styles["marked"]}>
          {can.sentence} {can.hint ?? ""}
        </p>
      )}
    </div>
  );
}

function Actions(): ReactNode {
  const start = useTrain((s) => s.startTraining);
  const refused = useTrain((s) => current(s.trainPlan)?.can.ok === false);
  const asked = useAsked();
  if (asked === null) return null;
  const problems = asked.ok ? 0 : Object.keys(asked.problems).length;
  return (
    <div className={cx(styles["actions"], styles["bar"])}>
      <Button look="primary" disabled={!asked.ok || refused} onClick={() => void start()}>
        Start
      </Button>
      {asked.ok ? (
        <>
          <CopyButton
            label="Copy as command"
            text={() => commandText({ kind: "train", spec: asked.spec }, null) ?? ""}
          />
          <Button
            title="The description that rlx train reads"
            onClick={() =>
              saveText(`${asked.spec.recipe}.json`, `${JSON.stringify(asked.spec, null, 2)}\n`, "application/json")
            }
          >
            Save as a spec
          </Button>
        </>
      ) : (
        <Note>{problems === 1 ? "One field is" : `${problems} fields are`} not right yet.</Note>
      )}
    </div>
  );
}
