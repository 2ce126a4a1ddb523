/** Runs of a graph: what it is given, on which devices, and what came out, side by side. */
import type { ReactNode } from "react";
import type { DeviceInfo } from "../../../main/contract/views/engine.ts";
import { LARGEST_SENT_ARRAY } from "../../../main/contract/views/text.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { NumberField } from "../../ui/fields.tsx";
import { bytes } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import { symbolsOf } from "./asked.ts";
import { RunResults } from "./RunResults.tsx";
import { useText } from "./useText.ts";
import styles from "./Text.module.css";

/** Devices that compile any graph, or run its parts. */
const runs = ({ capabilities }: DeviceInfo): boolean => capabilities.graphs === true || capabilities.segments === true;

export function GraphRun(): ReactNode {
  const run = useText((s) => s.runGraph);
  const stop = useText((s) => s.stopGraph);
  const running = useText((s) => s.graphRunning);
  const isEmpty = useText((s) => s.graphForm.devices.length === 0);
  const isChanged = useText((s) => s.textDraft !== null);
  const title = useText((s) => current(s.info)?.devices.find(({ id }) => id === s.graphRunning)?.title ?? "");
  return (
    <div className={styles["run"]}>
      <div className={styles["runHead"]}>
        <h2>Run the graph</h2>
        {running === null ? (
          <Button look="primary" disabled={isEmpty} onClick={() => void run()}>
            Run it
          </Button>
        ) : (
          <Button look="primary" onClick={stop}>
            Stop
          </Button>
        )}
      </div>
      {isChanged ? (
        <Note>What was changed in the text is not used yet: this runs the graph as it was before.</Note>
      ) : null}
      <Devices />
      <Inputs />
      {running === null ? null : <Progress sentence={`Running on ${title}`} fraction={null} />}
      <RunResults />
    </div>
  );
}

function Devices(): ReactNode {
  const devices = useText((s) => current(s.info)?.devices ?? null);
  const chosen = useText((s) => s.graphForm.devices);
  const setForm = useText((s) => s.setGraphForm);
  const running = useText((s) => s.graphRunning !== null);
  return (
    <fieldset className={styles["devices"]} disabled={running}>
      <legend>On</legend>
      {(devices ?? []).filter(runs).map(({ id, title, available, sentence }) => (
        <label key={id} title={sentence}>
          <input
            type="checkbox"
            checked={chosen.includes(id)}
            disabled={!available}
            onChange={({ target: { checked } }) =>
              setForm({ devices: checked ? [...chosen, id] : chosen.filter((each) => each !== id) })
            }
          />
          {title}
          {available ? null : <em>not here</em>}
        </label>
      ))}
    </fieldset>
  );
}

const NO_INPUTS: readonly never[] = [];

function Inputs(): ReactNode {
  const inputs = useText((s) => (s.textDraft === null ? current(s.textReport)?.graph?.inputs : undefined) ?? NO_INPUTS);
  const form = useText((s) => s.graphForm);
  const setForm = useText((s) => s.setGraphForm);
  return (
    <div className={styles["inputs"]}>
      <NumberField
        label="Seed"
        value={form.seed}
        min={0}
        max={0xffff_ffff}
        whole
        onChange={(seed) => setForm({ seed })}
      />
      {symbolsOf(inputs.map(({ type }) => type)).map((symbol) => (
        <NumberField
          key={symbol}
          label={symbol}
          value={form.symbols[symbol] ?? 4}
          min={0}
          max={1 << 20}
          whole
          onChange={(size) => setForm({ symbols: { ...form.symbols, [symbol]: size } })}
        />
      ))}
      {inputs.map((input) => (
        <Input key={input.name} {...input} />
      ))}
    </div>
  );
}

/** Drawn by the seed, or an array from a file. */
function Input({ name, type }: { readonly name: string; readonly type: string }): ReactNode {
  const given = useText((s) => s.graphForm.inputs);
  const setForm = useText((s) => s.setGraphForm);
  const notify = useText((s) => s.notifyError);
  const take = async (file: File): Promise<void> => {
    try {
      const sent = new Uint8Array(await file.arrayBuffer());
      setForm({ inputs: { ...given, [name]: { name: file.name, bytes: sent } } });
    } catch (error) {
      notify(`${file.name} could not be read`, error);
    }
  };
  const picker = useFilePicker({
    label: `Array for ${name}`,
    accept: ".npy,.npz",
    onFiles: ([file]) => void take(file),
  });
  const own = given[name];
  const { [name]: _own, ...others } = given;
  return (
    <div className={styles["input"]}>
      <b>{name}</b> <code>{type}</code>
      <span>{own === undefined ? "drawn by the seed" : "name" in own ? own.name : own.path}</span>
      {picker.input}
      <Button small title={`A .npy or .npz file of at most ${bytes(LARGEST_SENT_ARRAY)}`} onClick={picker.open}>
        From a file…
      </Button>
      {own === undefined ? null : (
        <Button small onClick={() => setForm({ inputs: others })}>
          Draw it
        </Button>
      )}
    </div>
  );
}

export function GraphRunCard(): ReactNode {
  return (
    <Card title="A run of a graph">
      <p>
        Inputs are drawn by the seed, or are arrays of NumPy. Each device computes the same; the error is the largest
        distance from the float64 reference, over the largest value there. A simulator’s time says nothing of a device.
      </p>
    </Card>
  );
}
