/**
 * The subject of the window: the runtime first, then what it runs on. Units, system and weights are Core ML's; chip and
 * context count for every runtime. No number of a prediction without them.
 */
import { LARGEST_CONTEXT, optionWords, targetOptions } from "../../main/contract/views/common.ts";
import type { ReactNode } from "react";
import type { TargetSpec } from "../../main/contract/views/common.ts";
import type { DeviceInfo } from "../../main/contract/views/engine.ts";
import type { Backend } from "../../main/contract/views/graph.ts";
import { BACKENDS, backendTitle } from "../../main/contract/views/graph.ts";
import { isGraphAlone } from "../../main/contract/views/model.ts";
import type { TargetList } from "../../main/contract/views/route.ts";
import { deviceTitle } from "../devices/choices.ts";
import { backendOf, runnerOf } from "../devices/runner.ts";
import { useVerdict } from "../features/overview/useVerdict.ts";
import { current } from "../session/async.ts";
import { ChoiceField, NumberField } from "../ui/fields.tsx";
import { count, figureText } from "../ui/format.ts";
import { Segmented } from "../ui/Segmented.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

const RUNTIMES = BACKENDS.map(({ backend, title, hint }) => ({ id: backend, text: title, hint }));

export function TargetForm(): ReactNode {
  const backend = useWorkbench((state) => state.backend);
  const setBackend = useWorkbench((state) => state.setBackend);
  const target = useWorkbench((state) => state.target);
  const targets = useWorkbench((state) => current(state.targets));
  const devices = useWorkbench((state) => current(state.info)?.devices ?? null);
  const trained = useWorkbench((state) => current(state.model)?.context.trained ?? null);
  const setTarget = useWorkbench((state) => state.setTarget);
  const isGraph = useWorkbench((state) => isGraphAlone(current(state.model)?.kind ?? "model"));
  if (target === null || targets === null) return null;
  const change = (part: Partial<TargetSpec>): void => setTarget({ ...target, ...part });
  const { here } = targets;
  const words = optionWords(target.options);
  return (
    <>
      <Segmented label="Runtime" value={backend} options={RUNTIMES} onChange={setBackend} />
      <p className={styles["quiet"]}>{devices === null ? "" : whereText(backend, devices)}</p>
      {backend === "coreml" ? <Units target={target} onChange={change} /> : null}
      <div className={styles["pair"]}>
        <ChoiceField
          stacked
          label="Chip"
          value={target.chip}
          options={targets.chips}
          hint={hintOf(targets.chips, target.chip)}
          onChange={(chip) => change({ chip })}
        />
        {backend === "coreml" ? (
          <ChoiceField
            stacked
            label="System"
            value={target.os}
            options={targets.oses}
            hint={hintOf(targets.oses, target.os)}
            onChange={(os) => change({ os })}
          />
        ) : null}
      </div>
      {backend === "coreml" ? (
        <div className={styles["pair"]}>
          <Weights target={target} onChange={change} />
          {target.profile === "exact" ? null : <Palette target={target} onChange={change} />}
        </div>
      ) : null}
      {backend === "coreml" && words.length > 0 ? (
        <p className={styles["quiet"]}>
          Compiled with {words.join(", ")}.{" "}
          <button type="button" className={styles["linkButton"]} onClick={() => change({ options: undefined })}>
            Compile without
          </button>
        </p>
      ) : null}
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
      </div>
      <p className={styles["quiet"]}>
        {isGraph
          ? "A graph has no context of its own: a symbol that it leaves open is as large as this."
          : trained === null
            ? "The file does not say for how many tokens the model was trained."
            : `The model was trained on ${count(trained)} tokens; a longer context is not offered.`}
      </p>
      <MemoryLine />
      {here !== null && JSON.stringify({ ...here, context: target.context }) !== JSON.stringify(target) ? (
        <button
          type="button"
          className={styles["linkButton"]}
          onClick={() => setTarget({ ...here, context: target.context })}
        >
          Use this Mac
        </button>
      ) : null}
    </>
  );
}

/** What the choice costs in memory, as it is made: "~72.6 MB of 19.3 GB". */
function MemoryLine(): ReactNode {
  const verdict = current(useVerdict("own").own);
  const fit = verdict?.own.ok === true ? verdict.own.fit : null;
  return (
    <p className={styles["quiet"]} role="status">
      {fit === null
        ? ""
        : `It takes ${figureText(fit.total)} of ${figureText(fit.available)}${fit.verdict === "too-big" ? ": too much" : ""}.`}
    </p>
  );
}

/** Whether the runtime is here, and what makes the answers. */
function whereText(backend: Backend, devices: readonly DeviceInfo[]): string {
  const runner = runnerOf(backend, devices);
  if (backendOf(devices, runner) === backend) return "Answers, benchmarks and recordings are made on it.";
  const runs = `answers, benchmarks and recordings are made on ${deviceTitle(devices, runner)}.`;
  return `${backendTitle(backend)} is not on this machine: it is predicted, and ${runs}`;
}

const NONE: TargetList["units"] = [];

interface FieldProps {
  readonly target: TargetSpec;
  readonly onChange: (part: Partial<TargetSpec>) => void;
}

function Units({ target, onChange }: FieldProps): ReactNode {
  const units = useWorkbench((state) => current(state.targets)?.units ?? NONE);
  return (
    <ChoiceField
      stacked
      label="Compute units"
      value={target.units}
      options={units}
      hint={hintOf(units, target.units)}
      onChange={(id) => {
        const chosen = (["cpu-ane", "cpu-gpu", "all", "cpu"] as const).find((each) => each === id);
        if (chosen !== undefined) onChange({ units: chosen });
      }}
    />
  );
}

function Weights({ target, onChange }: FieldProps): ReactNode {
  const profiles = useWorkbench((state) => current(state.targets)?.profiles ?? NONE);
  return (
    <ChoiceField
      stacked
      label="Weights"
      value={target.profile}
      options={profiles}
      hint={hintOf(profiles, target.profile)}
      onChange={(id) => {
        const chosen = (["auto", "gpu", "ane", "exact", "f32"] as const).find((each) => each === id);
        // There is no palette of f32 values.
        const isF32 = chosen === "exact" || chosen === "f32";
        if (isF32 && hasPalette(target)) onChange({ profile: chosen, options: withPalette(target, null) });
        else if (chosen !== undefined) onChange({ profile: chosen });
      }}
    />
  );
}

/** What stands for f16 matrices; the losses are those of normally distributed weights. */
const PALETTES = [
  { id: "none", title: "None", sentence: "Matrices of f16 stay as they are.", bits: null },
  { id: "8", title: "8 bits", sentence: "Places in tables of 256 values: about 0.6 % from f16.", bits: 8 },
  { id: "6", title: "6 bits", sentence: "Places in tables of 64 values: about 2.5 % from f16.", bits: 6 },
  { id: "4", title: "4 bits", sentence: "Places in tables of 16 values: about 10 % from f16.", bits: 4 },
] as const;

type PaletteBits = (typeof PALETTES)[number]["bits"];

const hasPalette = ({ options }: TargetSpec): boolean => (options?.palette ?? null) !== null;

const withPalette = ({ options }: TargetSpec, palette: PaletteBits): TargetSpec["options"] => ({
  ...targetOptions.parse(options ?? {}),
  palette,
});

function Palette({ target, onChange }: FieldProps): ReactNode {
  const value = PALETTES.find(({ bits }) => bits === (target.options?.palette ?? null))?.id ?? "none";
  return (
    <ChoiceField
      stacked
      label="Palette of f16"
      value={value}
      options={PALETTES}
      hint={hintOf(PALETTES, value)}
      onChange={(id) => {
        const chosen = PALETTES.find((each) => each.id === id);
        if (chosen !== undefined) onChange({ options: withPalette(target, chosen.bits) });
      }}
    />
  );
}

function hintOf(list: readonly { readonly id: string; readonly sentence: string }[], id: string): string | undefined {
  const sentence = list.find((entry) => entry.id === id)?.sentence ?? "";
  return sentence === "" ? undefined : sentence;
}
