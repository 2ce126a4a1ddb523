/** What is measured: lists of tokens, depths and threads, devices and models in turn, how often; and how long that may take. */
import type { ReactNode } from "react";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { cacheTypeOptions, isPacked, OWN, PACKED_ELSEWHERE, sharedCacheTypes } from "../../devices/cacheTypes.ts";
import { PRECISIONS } from "../../devices/precisions.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { cacheType } from "../../../main/contract/views/common.ts";
import { precision } from "../../../main/contract/views/graph.ts";
import { ChoiceField, NumberField } from "../../ui/fields.tsx";
import { count, duration, plural } from "../../ui/format.ts";
import { TypedField } from "../../ui/TypedField.tsx";
import { InTurnPicker } from "./InTurnPicker.tsx";
import type { ListName, Preset } from "./settings.ts";
import { askedOf, expectedSeconds, presetOf, PRESETS } from "./settings.ts";
import { modelName } from "./slice.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

const PRESET_TEXTS: Readonly<Record<Preset, readonly [text: string, hint: string]>> = {
  quick: ["Quick (about 30 s)", "Prefill of 512 and decode of 64 tokens, as often as fits into 30 seconds."],
  matrix: ["Matrix", "Short and long prompts, with an empty and with a filled cache."],
  threads: ["Thread sweep", "The same work on 1, 2, … threads, in turn, as a curve."],
};

export function MatrixEditor(): ReactNode {
  const settings = useBench((s) => s.benchSettings);
  const set = useBench((s) => s.setBench);
  const running = useBench((s) => s.benchRunning !== null);
  const start = useBench((s) => s.startBench);
  const stop = useBench((s) => s.stopBench);
  const trained = useBench((s) => current(s.model)?.context.trained ?? null);
  const processors = useBench((s) => current(s.info)?.cpu.threads ?? 1);
  const asked = askedOf(settings, trained);
  const problemOf = (list: ListName): string | null => (!asked.ok && asked.list === list ? asked.problem : null);
  const bound = trained === null ? "" : `The model was trained on ${count(trained)} tokens.`;
  return (
    <section className={styles["editor"]} aria-label="What is measured">
      <div className={styles["settings"]}>
        {PRESETS.map((preset) => (
          <Button
            key={preset}
            small
            title={PRESET_TEXTS[preset][1]}
            disabled={running}
            onClick={() => set(presetOf(preset, trained, processors))}
          >
            {PRESET_TEXTS[preset][0]}
          </Button>
        ))}
      </div>
      <div className={styles["settings"]}>
        <TypedField
          label="Prompt tokens"
          hint={`How many tokens are read at once (pp): numbers and ranges, such as 128, 512 or 1-4. 0 leaves the test out. ${bound}`}
          value={settings.promptTokens}
          problem={problemOf("promptTokens")}
          onChange={(promptTokens) => set({ promptTokens })}
        />
        <TypedField
          label="Generated tokens"
          hint={`How many tokens are generated one by one (tg). 0 leaves the test out. ${bound}`}
          value={settings.generateTokens}
          problem={problemOf("generateTokens")}
          onChange={(generateTokens) => set({ generateTokens })}
        />
        <TypedField
          label="Depth"
          hint="How many tokens the cache holds before each test."
          value={settings.depth}
          problem={problemOf("depth")}
          onChange={(depth) => set({ depth })}
        />
        <TypedField
          label="Threads"
          hint={`Threads of the CPU, such as 1-${processors}; empty for all. Three or more give a curve.`}
          placeholder="all"
          value={settings.threads}
          problem={problemOf("threads")}
          onChange={(threads) => set({ threads })}
        />
        <NumberField
          whole
          label="Repeats"
          hint="How often each test is done, in turn with the others. Six or more give an interval worth the name."
          value={settings.repeats}
          min={1}
          max={1000}
          digits={3}
          onChange={(repeats) => set({ repeats })}
        />
        <NumberField
          whole
          label="Seconds"
          hint="Only as many repeats as fit into this time, but at least six; 0 for all of them."
          value={settings.seconds}
          min={0}
          max={86_400}
          digits={3}
          onChange={(seconds) => set({ seconds })}
        />
        <NumberField
          whole
          label="Warm-up"
          hint="Rounds before the first repeat that are not counted: they fill caches and wake the processor."
          value={settings.warmup}
          min={0}
          max={20}
          digits={2}
          onChange={(warmup) => set({ warmup })}
        />
        <ChoiceField
          label="Precision"
          value={settings.precision}
          options={PRECISIONS}
          onChange={(id) => set({ precision: precision.parse(id) })}
        />
        <CacheTypeField />
        <DevicePicker
          besideFields
          label="Measured on"
          lead="On"
          value={settings.device}
          needs="measure"
          disabled={running}
          onChange={(device) => set({ device, otherDevices: settings.otherDevices.filter((each) => each !== device) })}
        />
        <InTurnPicker disabled={running} />
      </div>
      <div className={styles["settings"]}>
        <p className={styles["expected"]} role="status">
          {asked.ok ? <Expected /> : asked.list === null ? asked.problem : "A list cannot be read."}
        </p>
        <span className={styles["space"]} />
        {running ? (
          <Button look="primary" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button look="primary" disabled={!asked.ok} onClick={() => void start()}>
            Measure
          </Button>
        )}
      </div>
    </section>
  );
}

/** Only what all that is measured takes. Packed ones the CPU engine alone has. */
function CacheTypeField(): ReactNode {
  const settings = useBench((s) => s.benchSettings);
  const set = useBench((s) => s.setBench);
  const devices = useBench((s) => current(s.info)?.devices ?? null);
  const measured = [settings.device, ...settings.otherDevices];
  const types = sharedCacheTypes(measured.map((id) => devices?.find((device) => device.id === id)));
  if (types.length === 0) return null;
  return (
    <ChoiceField
      label="Cache"
      value={settings.cacheType ?? OWN}
      options={cacheTypeOptions(types)}
      hint={types.some(isPacked) ? undefined : PACKED_ELSEWHERE}
      onChange={(id) => set({ cacheType: id === OWN ? null : cacheType.parse(id) })}
    />
  );
}

/** "12 cells, 84 runs, about 40 s by the last result" */
function Expected(): ReactNode {
  const settings = useBench((s) => s.benchSettings);
  const overview = useBench((s) => current(s.model));
  const results = useBench((s) => s.benchResults);
  const earlier = useBench((s) => s.benchEarlier);
  if (overview === null) return null;
  const asked = askedOf(settings, overview.context.trained);
  if (!asked.ok) return null;
  const last = [...results, ...earlier].find(({ model }) => model === modelName(overview))?.result;
  const seconds = expectedSeconds(settings, asked, last);
  const runs = settings.seconds > 0 ? "" : `, ${plural(asked.cells * (settings.repeats + settings.warmup), "run")}`;
  const time =
    seconds === null
      ? ""
      : settings.seconds > 0
        ? `, about ${duration(Math.round(seconds))}`
        : `, about ${duration(Math.max(1, Math.round(seconds)))} by the last result`;
  return `${plural(asked.cells, "test")}${runs}${time}`;
}
