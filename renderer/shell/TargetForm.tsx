/** The target a prediction is for: chip, system, units, weights, context. Every routing number names it. */
import { LARGEST_CONTEXT } from "../../main/contract/views/common.ts";
import type { ReactNode } from "react";
import type { TargetSpec } from "../../main/contract/views/common.ts";
import { current } from "../session/async.ts";
import { ChoiceField, NumberField } from "../ui/fields.tsx";
import { count } from "../ui/format.ts";
import { Segmented } from "../ui/Segmented.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function TargetForm(): ReactNode {
  const target = useWorkbench((state) => state.target);
  const targets = useWorkbench((state) => current(state.targets));
  const trained = useWorkbench((state) => current(state.model)?.context.trained ?? null);
  const phase = useWorkbench((state) => state.phase);
  const setTarget = useWorkbench((state) => state.setTarget);
  const setPhase = useWorkbench((state) => state.setPhase);
  if (target === null || targets === null) return null;
  const change = (part: Partial<TargetSpec>): void => setTarget({ ...target, ...part });
  const hint = (
    list: readonly { readonly id: string; readonly sentence: string }[],
    id: string,
  ): string | undefined => {
    const sentence = list.find((entry) => entry.id === id)?.sentence ?? "";
    return sentence === "" ? undefined : sentence;
  };
  return (
    <>
      <p className={styles["quiet"]}>
        {targets.here === null
          ? "Core ML is not on this machine: routes are predicted for the Mac that you name here."
          : "Predicted by our rules for the machine that you name here."}
      </p>
      <div className={styles["pair"]}>
        <ChoiceField
          stacked
          label="Chip"
          value={target.chip}
          options={targets.chips}
          hint={hint(targets.chips, target.chip)}
          onChange={(chip) => change({ chip })}
        />
        <ChoiceField
          stacked
          label="System"
          value={target.os}
          options={targets.oses}
          hint={hint(targets.oses, target.os)}
          onChange={(os) => change({ os })}
        />
      </div>
      <ChoiceField
        stacked
        label="Compute units"
        value={target.units}
        options={targets.units}
        hint={hint(targets.units, target.units)}
        onChange={(id) => {
          const units = (["cpu-ane", "cpu-gpu", "all", "cpu"] as const).find((each) => each === id);
          if (units !== undefined) change({ units });
        }}
      />
      <ChoiceField
        stacked
        label="Weights"
        value={target.profile}
        options={targets.profiles}
        hint={hint(targets.profiles, target.profile)}
        onChange={(id) => {
          const profile = (["auto", "gpu", "ane", "exact"] as const).find((each) => each === id);
          if (profile !== undefined) change({ profile });
        }}
      />
      <div className={styles["row"]}>
        <NumberField
          whole
          label="Context"
          value={target.context}
          min={1}
          max={trained ?? LARGEST_CONTEXT}
          digits={7}
          onChange={(context) => change({ context })}
        />
        <Segmented
          label="Phase"
          value={phase}
          options={[
            { id: "decode", text: "Decode", hint: "One token at a time" },
            { id: "prefill", text: "Prefill", hint: "The prompt, in chunks" },
          ]}
          onChange={setPhase}
        />
      </div>
      <p className={styles["quiet"]}>
        {trained === null
          ? "The file does not say for how many tokens the model was trained."
          : `The model was trained on ${count(trained)} tokens; a longer context is not offered.`}
      </p>
      {targets.here !== null &&
      JSON.stringify({ ...targets.here, context: target.context }) !== JSON.stringify(target) ? (
        <button
          type="button"
          className={styles["linkButton"]}
          onClick={() => targets.here !== null && setTarget({ ...targets.here, context: target.context })}
        >
          Use this Mac
        </button>
      ) : null}
    </>
  );
}
