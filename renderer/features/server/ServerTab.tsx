/** The server for other programs: start it, give its address and key away, and see what it is asked. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { LARGEST_CONTEXT } from "../../../main/contract/views/common.ts";
import type { ServerStatus } from "../../../main/contract/views/server.ts";
import { deviceTitle } from "../../devices/choices.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { useDevices } from "../../devices/useDevices.ts";
import { current } from "../../session/async.ts";
import { fileTitles } from "../../session/fileTitles.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { CopyButton } from "../../ui/CopyButton.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import fields from "../../ui/fields.module.css";
import { NumberField } from "../../ui/fields.tsx";
import { bytes, count, plural } from "../../ui/format.ts";
import { RequestTable } from "./RequestTable.tsx";
import type { ServerFields } from "./slice.ts";
import { pathsOf } from "./slice.ts";
import { useServer } from "./useServer.ts";
import styles from "./Server.module.css";

export function ServerTab(): ReactNode {
  const running = useServer((s) => s.serverRunning);
  const error = useServer((s) => s.serverError);
  const watch = useServer((s) => s.watchServer);
  useEffect(() => watch(), [watch]);
  return (
    <div className={styles["tab"]}>
      {error === null ? null : <ErrorNote title="The server" error={error} />}
      {running === undefined ? null : running === null ? <StartCard /> : <RunningCard running={running} />}
      <RequestTable />
    </div>
  );
}

function StartCard(): ReactNode {
  const { models, port, context, device, keepTexts, key, host } = useServer((s) => s.serverFields);
  const busy = useServer((s) => s.serverBusy !== null);
  const set = useServer((s) => s.setServer);
  const start = useServer((s) => s.startServer);
  const isReady = pathsOf(models).length > 0;
  return (
    <Card title="Serve other programs" aside="in the form of OpenAI’s API">
      <label className={styles["field"]}>
        <span>Model files and folders with model files, one in each line</span>
        <textarea
          rows={2}
          value={models}
          spellCheck={false}
          onChange={(event) => set({ models: event.target.value })}
        />
      </label>
      <ModelChoice />
      <div className={styles["row"]}>
        <TextField name="host" label="Address" value={host} hint="Beyond 127.0.0.1 a key of yours is needed." />
        <TextField name="key" label="Key" value={key} hint="Empty: a new one is made." />
      </div>
      <div className={styles["row"]}>
        <NumberField
          label="Port"
          value={port}
          min={0}
          max={65_535}
          whole
          hint="0 takes a free one."
          onChange={(chosen) => set({ port: chosen })}
        />
        <NumberField
          label="Context"
          value={context}
          min={1}
          max={LARGEST_CONTEXT}
          digits={8}
          whole
          hint="Positions of each conversation, where the model knows as many."
          onChange={(chosen) => set({ context: chosen })}
        />
        <DevicePicker
          besideFields
          label="Runs on"
          lead="On"
          value={device}
          onChange={(chosen) => set({ device: chosen })}
        />
        <label className={styles["check"]}>
          <input type="checkbox" checked={keepTexts} onChange={(event) => set({ keepTexts: event.target.checked })} />
          Keep prompts and answers in the log
        </label>
      </div>
      <div className={styles["actions"]}>
        <Button look="primary" disabled={!isReady || busy} onClick={() => void start()}>
          {busy ? "Starting …" : "Start the server"}
        </Button>
        {isReady ? null : <Note>Name a model file or a folder first.</Note>}
      </div>
    </Card>
  );
}

/** Names a model by a click: one of this machine, or one of the system's dialog. */
function ModelChoice(): ReactNode {
  const choices = useServer((s) => s.serverChoices);
  const load = useServer((s) => s.loadServerChoices);
  const add = useServer((s) => s.addServerModel);
  const pick = useServer((s) => s.pickFile);
  const named = useServer((s) => s.serverFields.models);
  useEffect(() => void load(), [load]);
  const left = choices.filter(({ path }) => !pathsOf(named).includes(path));
  const titles = fileTitles(choices.map(({ path }) => path));
  if (left.length === 0 && pick === null) return null;
  return (
    <div className={styles["row"]}>
      {left.length === 0 ? null : (
        <select
          className={fields["alone"]}
          aria-label="Add a model of this machine"
          value=""
          onChange={(event) => {
            if (event.target.value !== "") add(event.target.value);
          }}
        >
          <option value="">Add a model of this machine…</option>
          {left.map(({ path, name }) => (
            <option key={path} value={path} title={path}>
              {titles.get(path) ?? name}
            </option>
          ))}
        </select>
      )}
      {pick === null ? null : (
        <Button small onClick={() => void pick().then((path) => (path === null ? undefined : add(path)))}>
          Choose a file…
        </Button>
      )}
    </div>
  );
}

type TextName = { [K in keyof ServerFields]: ServerFields[K] extends string ? K : never }[keyof ServerFields];

function TextField({
  name,
  label,
  value,
  hint,
}: {
  readonly name: TextName;
  readonly label: string;
  readonly value: string;
  readonly hint: string;
}): ReactNode {
  const set = useServer((s) => s.setServer);
  return (
    <label className={styles["field"]}>
      <span>
        {label} <em>{hint}</em>
      </span>
      <input
        value={value}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => set({ [name]: event.target.value })}
      />
    </label>
  );
}

type Running = NonNullable<ServerStatus["running"]>;

function RunningCard({ running }: { readonly running: Running }): ReactNode {
  const busy = useServer((s) => s.serverBusy !== null);
  const stop = useServer((s) => s.stopServer);
  const devices = useDevices((s) => current(s.info)?.devices ?? null);
  const { url, key, models, answering, waiting, served, device, context, keepsTexts } = running;
  return (
    <Card
      title="Serving"
      aside={`${plural(served, "request")} answered, ${count(answering)} running, ${count(waiting)} waiting`}
    >
      <dl className={styles["facts"]}>
        <dt>Base URL</dt>
        <dd>
          <code>{url}</code>
          <CopyButton label="Copy the URL" text={() => url} />
        </dd>
        <dt>Key</dt>
        <dd>
          {key === null ? (
            "none: every program on this machine may ask"
          ) : (
            <>
              <code>{key}</code>
              <CopyButton label="Copy the key" text={() => key} />
            </>
          )}
        </dd>
        <dt>{models.length === 1 ? "Model" : "Models"}</dt>
        <dd>
          <ul className={styles["models"]}>
            {models.map(({ id, bytes: size, state }) => (
              <li key={id}>
                <code>{id}</code> <span>{bytes(size)}</span> <span>{STATES[state]}</span>
              </li>
            ))}
          </ul>
        </dd>
        <dt>Runs on</dt>
        <dd>
          {deviceTitle(devices, device)}, up to {count(context)} positions where the model knows as many,{" "}
          {keepsTexts ? "texts are kept in the log" : "no texts are kept"}
        </dd>
      </dl>
      <div className={styles["actions"]}>
        <Button disabled={busy} onClick={() => void stop()}>
          {busy ? "Stopping …" : "Stop the server"}
        </Button>
        <CopyButton label="Copy as curl" text={() => curlOf(running)} />
      </div>
    </Card>
  );
}

const STATES: Readonly<Record<Running["models"][number]["state"], string>> = {
  known: "opened on demand",
  opening: "opening …",
  open: "open",
};

/** One question to the first model, for a terminal. */
const curlOf = ({ url, key, models }: Running): string => {
  const body = { model: models[0]?.id, messages: [{ role: "user", content: "Hello" }] };
  const auth = key === null ? "" : ` -H 'Authorization: Bearer ${key}'`;
  return `curl ${url}/chat/completions${auth} -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`;
};
