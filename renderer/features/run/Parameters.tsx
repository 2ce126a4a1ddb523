/** The parameters of a run: each with its explanation, none beyond the model's limits. */
import { precision } from "../../../main/contract/views/graph.ts";
import { cacheType, LARGEST_CONTEXT } from "../../../main/contract/views/common.ts";
import type { SamplingNumber } from "../../../main/contract/views/run.ts";
import { isWholeSampling, SAMPLING_NUMBERS, SAMPLING_RANGES, samplingWords } from "../../../main/contract/views/run.ts";
import type { ReactNode } from "react";
import { cacheTypeChoice, OWN } from "../../devices/cacheTypes.ts";
import { PRECISIONS } from "../../devices/precisions.ts";
import { current } from "../../session/async.ts";
import { ChoiceField, NumberField } from "../../ui/fields.tsx";
import { count } from "../../ui/format.ts";
import { Hint } from "../../ui/Hint.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { Adapters } from "./Adapters.tsx";
import { ChatSettings } from "./ChatSettings.tsx";
import { useRun } from "./useRun.ts";
import { wrongBiases } from "./request.ts";
import styles from "./Run.module.css";

const HINTS = {
  temperature: "How freely the next token is drawn. 0 always takes the likeliest; 1 draws as the model weighs them.",
  topP: "Draws only among the likeliest tokens that together have this share of the probability. 1 leaves all.",
  topK: "Draws only among this many of the likeliest tokens. 0 leaves all.",
  minP: "Leaves out tokens that are less likely than this share of the likeliest. 0 leaves all.",
  repeatPenalty: "Makes tokens of the last 64 less likely again. 1 does nothing; above 1.3 most answers suffer.",
  typicalP: "Draws only among tokens whose surprise is usual, up to this share of the probability. 1 leaves all.",
  repeatLast: "How many of the last tokens the penalties look at.",
  frequencyPenalty: "Taken from a token's logit each time that it was written. 0 does nothing.",
  presencePenalty: "Taken once from the logit of every token that was written. 0 does nothing.",
  xtcProbability: "XTC: how often the likeliest tokens are left out, for less usual answers. 0 for never.",
  xtcThreshold: "XTC: leaves out all tokens above this probability but the least likely of them.",
  dryMultiplier: "DRY: how strongly repeated passages are avoided. 0 for not at all; 0.8 is usual.",
  dryBase: "DRY: how much more each further token of a repeated passage costs.",
  dryAllowedLength: "DRY: repeated passages up to this many tokens cost nothing.",
  dryLast: "DRY: how many of the last tokens it looks at.",
  mirostat:
    "1 or 2: Mirostat keeps the surprise of the answer near a target, in place of top-p, top-k and min-p. 0 is off.",
  mirostatTau: "Mirostat: the surprise to aim at, in bits.",
  mirostatEta: "Mirostat: how fast it corrects itself.",
  maxTokens: "The answer ends after this many tokens at the latest.",
  context: "How many tokens prompt and answers share. The cache for them is set aside before the run.",
  seed: "Empty: a random seed each time, shown with the answer. The same seed gives the same answer.",
} as const;

/** Tokens that the model can look back on, and the sentence that says why no more are offered. */
export function contextLimit(trained: number | null): { readonly most: number; readonly sentence: string } {
  return trained === null
    ? { most: LARGEST_CONTEXT, sentence: "The file does not say for how many tokens the model was trained." }
    : {
        most: trained,
        sentence: `The model was trained on ${count(trained)} tokens. Longer contexts are not offered, because answers become unreliable.`,
      };
}

export function Parameters(): ReactNode {
  const p = useRun((s) => s.parameters);
  const set = useRun((s) => s.setParameters);
  const trained = useRun((s) => current(s.model)?.context.trained ?? null);
  const chosen = useRun((s) => current(s.model)?.context.chosen ?? 1);
  const limit = contextLimit(trained);
  const context = Math.min(p.context ?? chosen, limit.most);
  return (
    <>
      <NumberField
        small
        label="Temperature"
        hint={HINTS.temperature}
        value={p.temperature}
        min={0}
        max={5}
        step={0.1}
        digits={3}
        onChange={(temperature) => set({ temperature })}
      />
      <Popover small label="Sampling parameters" width={320} trigger={<span>More</span>}>
        <div className={styles["form"]}>
          <NumberField
            inColumn
            label="Top-p"
            hint={HINTS.topP}
            value={p.topP}
            min={0}
            max={1}
            step={0.05}
            onChange={(topP) => set({ topP })}
          />
          <NumberField
            inColumn
            whole
            label="Top-k"
            hint={HINTS.topK}
            value={p.topK}
            min={0}
            max={1000}
            onChange={(topK) => set({ topK })}
          />
          <NumberField
            inColumn
            label="Min-p"
            hint={HINTS.minP}
            value={p.minP}
            min={0}
            max={1}
            step={0.01}
            onChange={(minP) => set({ minP })}
          />
          <NumberField
            inColumn
            label="Repetition penalty"
            hint={HINTS.repeatPenalty}
            value={p.repeatPenalty}
            min={0.5}
            max={2}
            step={0.05}
            onChange={(repeatPenalty) => set({ repeatPenalty })}
          />
          <NumberField
            inColumn
            whole
            label="Max tokens"
            hint={HINTS.maxTokens}
            value={Math.min(p.maxTokens, context)}
            min={1}
            max={context}
            digits={7}
            onChange={(maxTokens) => set({ maxTokens })}
          />
          <NumberField
            inColumn
            whole
            label="Context"
            hint={HINTS.context}
            value={context}
            min={1}
            max={limit.most}
            digits={7}
            onChange={(next) => set({ context: next })}
          />
          <p className={styles["limit"]}>{limit.sentence}</p>
          <ChoiceField
            label="Precision"
            value={p.precision}
            options={PRECISIONS}
            onChange={(id) => set({ precision: precision.parse(id) })}
          />
          <p className={styles["limit"]}>
            In which floats the CPU engine and MLX compute. A Core ML package has those of its profile.
          </p>
          <CacheTypeField />
          <Hinted />
          <ChatSettings />
          <Adapters />
          <label className={styles["area"]}>
            <span>Stop sequences, one per line</span>
            <textarea rows={2} value={p.stop} onChange={(event) => set({ stop: event.target.value })} />
          </label>
          <Advanced />
        </div>
      </Popover>
      <SeedField />
    </>
  );
}

/** Only what the device takes is offered. */
function CacheTypeField(): ReactNode {
  const chosen = useRun((s) => s.parameters.cacheType);
  const device = useRun((s) => current(s.info)?.devices.find(({ id }) => id === s.parameters.device));
  const set = useRun((s) => s.setParameters);
  const { options, sentence } = cacheTypeChoice(device);
  return (
    <>
      {options.length === 0 ? null : (
        <ChoiceField
          label="Cache type"
          value={chosen ?? OWN}
          options={options}
          onChange={(id) => set({ cacheType: id === OWN ? null : cacheType.parse(id) })}
        />
      )}
      <p className={styles["limit"]}>{sentence}</p>
    </>
  );
}

/** Which numbers are the file's, and what it says that is not followed. */
function Hinted(): ReactNode {
  const hints = useRun((s) => current(s.model)?.samplingHints ?? null);
  const names = SAMPLING_NUMBERS.filter((name) => hints?.values[name] !== undefined).map(samplingWords);
  if (hints === null || (names.length === 0 && hints.notes.length === 0)) return null;
  const from = names.length === 0 ? [] : [`From the file: ${names.join(", ")}.`];
  return <p className={styles["limit"]}>{[...from, ...hints.notes].join(" ")}</p>;
}

/** Label and step of what is seldom changed. */
const ADVANCED: readonly (readonly [name: Exclude<SamplingNumber, "temperature">, label: string, step: number])[] = [
  ["typicalP", "Typical-p", 0.05],
  ["repeatLast", "Penalties look back", 16],
  ["frequencyPenalty", "Frequency penalty", 0.1],
  ["presencePenalty", "Presence penalty", 0.1],
  ["xtcProbability", "XTC probability", 0.1],
  ["xtcThreshold", "XTC threshold", 0.05],
  ["dryMultiplier", "DRY multiplier", 0.1],
  ["dryBase", "DRY base", 0.05],
  ["dryAllowedLength", "DRY allowed length", 1],
  ["dryLast", "DRY looks back", 64],
  ["mirostat", "Mirostat version", 1],
  ["mirostatTau", "Mirostat target", 0.5],
  ["mirostatEta", "Mirostat rate", 0.05],
];

function Advanced(): ReactNode {
  const p = useRun((s) => s.parameters);
  const set = useRun((s) => s.setParameters);
  const wrong = wrongBiases(p.logitBias);
  return (
    <details className={styles["advanced"]}>
      <summary>Advanced</summary>
      <div className={styles["form"]}>
        {ADVANCED.map(([name, label, step]) => (
          <NumberField
            key={name}
            inColumn
            whole={isWholeSampling(name)}
            label={label}
            hint={HINTS[name]}
            value={p[name]}
            min={SAMPLING_RANGES[name][0]}
            max={SAMPLING_RANGES[name][1]}
            step={step}
            digits={7}
            onChange={(value) => set({ [name]: value })}
          />
        ))}
        <label className={styles["area"]}>
          <span>Logit biases, one per line, such as 15=-2, hello=3 or x=ban</span>
          <textarea rows={2} value={p.logitBias} onChange={(event) => set({ logitBias: event.target.value })} />
        </label>
        <label className={styles["area"]}>
          <span>JSON schema of the answer</span>
          <textarea
            rows={3}
            placeholder={'{"type": "array", "items": {"type": "integer"}}'}
            value={p.jsonSchema}
            onChange={(event) => set({ jsonSchema: event.target.value })}
          />
        </label>
        <label className={styles["area"]}>
          <span>Grammar (GBNF) of the answer, where no schema is given</span>
          <textarea
            rows={3}
            placeholder={'root ::= "yes" | "no"'}
            value={p.grammar}
            onChange={(event) => set({ grammar: event.target.value })}
          />
        </label>
        {wrong.length === 0 ? null : (
          <p className={styles["limit"]} role="status">
            Left out, because it is not a token with a bias from −1000 to 1000: {wrong[0]}
          </p>
        )}
      </div>
    </details>
  );
}

function SeedField(): ReactNode {
  const seed = useRun((s) => s.parameters.seed);
  const set = useRun((s) => s.setParameters);
  return (
    <Hint text={HINTS.seed}>
      <label className={styles["seed"]}>
        <span>Seed</span>
        <input
          inputMode="numeric"
          aria-label="Seed"
          placeholder="random"
          value={seed ?? ""}
          onChange={(event) => {
            const text = event.target.value.trim();
            const number = Number(text);
            if (text === "") set({ seed: null });
            else if (Number.isInteger(number) && number >= 0 && number <= 4_294_967_295) set({ seed: number });
          }}
        />
      </label>
    </Hint>
  );
}
