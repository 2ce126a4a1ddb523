/** What is measured: how many tokens, how often, on what. */
import type { ReactNode } from "react";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { NumberField } from "../../ui/fields.tsx";
import { count } from "../../ui/format.ts";
import { useBench } from "./useBench.ts";
import styles from "./Bench.module.css";

export function BenchSettingsRow(): ReactNode {
  const settings = useBench((s) => s.benchSettings);
  const set = useBench((s) => s.setBench);
  const running = useBench((s) => s.benchRunning !== null);
  const start = useBench((s) => s.startBench);
  const stop = useBench((s) => s.stopBench);
  const trained = useBench((s) => current(s.model)?.context.trained ?? null);
  const most = Math.max(1, (trained ?? 65_537) - 1);
  const bound = trained === null ? "" : `The model was trained on ${count(trained)} tokens: no more than that.`;
  return (
    <div className={styles["settings"]}>
      <NumberField
        whole
        label="Prompt tokens"
        hint={`How many tokens are read at once (pp). 0 leaves the test out. ${bound}`}
        value={settings.promptTokens}
        min={0}
        max={most}
        onChange={(promptTokens) => set({ promptTokens })}
      />
      <NumberField
        whole
        label="Tokens to write"
        hint={`How many tokens are written one by one (tg). 0 leaves the test out. ${bound}`}
        value={settings.generateTokens}
        min={0}
        max={most}
        onChange={(generateTokens) => set({ generateTokens })}
      />
      <NumberField
        whole
        label="Repeats"
        hint="How often each test is done. Six or more give an interval worth the name."
        value={settings.repeats}
        min={1}
        max={100}
        digits={3}
        onChange={(repeats) => set({ repeats })}
      />
      <NumberField
        whole
        label="Warm-up"
        hint="Runs before the first repeat that are not counted: they fill caches and wake the processor."
        value={settings.warmup}
        min={0}
        max={20}
        digits={2}
        onChange={(warmup) => set({ warmup })}
      />
      <DevicePicker
        label="Measured on"
        lead="On"
        value={settings.device}
        needs="measure"
        disabled={running}
        onChange={(device) => set({ device })}
      />
      <span className={styles["space"]} />
      {running ? (
        <Button look="primary" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button look="primary" onClick={() => void start()}>
          Measure
        </Button>
      )}
    </div>
  );
}
