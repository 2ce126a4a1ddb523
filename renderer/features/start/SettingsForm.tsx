/** What is set once for this machine. Each change counts at once, for every window; the data folder from the next start on. */
import type { ReactNode, SubmitEvent } from "react";
import { useEffect, useState } from "react";
import { FIRST_SUBJECTS } from "../../../main/contract/views/preferences.ts";
import type { FirstSubject, Preferences, PreferencesView } from "../../../main/contract/views/preferences.ts";
import { useSession, sliceHook } from "../../session/context.tsx";
import { typedPath } from "../../session/openSource.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { Progress } from "../../ui/states.tsx";
import type { StartSlice } from "./slice.ts";
import styles from "./Settings.module.css";

const useStart = sliceHook<StartSlice>();

const APPEARANCE_TITLES = [
  { id: "", title: "As each window was left" },
  { id: "auto", title: "As the system" },
  { id: "light", title: "Light" },
  { id: "dark", title: "Dark" },
] as const;

const SUBJECT_TITLES: Readonly<Record<FirstSubject, string>> = {
  advise: "The fastest device here",
  coreml: "Core ML",
  mlx: "MLX",
  cpu: "CPU",
};

export function SettingsForm(): ReactNode {
  const view = useStart((state) => state.preferences);
  const load = useStart((state) => state.loadPreferences);
  useEffect(() => void load(), [load]);
  if (view === null) return <Progress sentence="Reading the settings" fraction={null} />;
  return <Form view={view} />;
}

function Form({ view }: { readonly view: PreferencesView }): ReactNode {
  const change = useStart((state) => state.changePreferences);
  const { preferences: now } = view;
  return (
    <div className={styles["settings"]} tabIndex={0} role="region" aria-label="Settings">
      {view.problem === null ? null : <p role="alert">{view.problem}</p>}
      <ChoiceField
        label="Appearance"
        value={now.appearance ?? ""}
        options={APPEARANCE_TITLES}
        onChange={(id) => {
          const appearance = APPEARANCE_TITLES.find((each) => each.id === id)?.id ?? "";
          void change({ appearance: appearance === "" ? null : appearance });
        }}
      />
      <ChoiceField
        label="A model begins on"
        value={now.firstSubject}
        options={FIRST_SUBJECTS.map((id) => ({ id, title: SUBJECT_TITLES[id] }))}
        onChange={(id) => {
          const firstSubject = FIRST_SUBJECTS.find((each) => each === id);
          if (firstSubject !== undefined) void change({ firstSubject });
        }}
      />
      <MemoryLimit key={`memory ${now.memoryLimit ?? ""}`} limit={now.memoryLimit} />
      <Notifications isOn={now.notifications} />
      <InFinder />
      <ModelFolders now={now} />
      <DataFolder key={`folder ${now.dataFolder ?? ""}`} view={view} />
      <p className={styles["quiet"]}>Kept in {view.file}. The same from a terminal: rlx settings, rlx models.</p>
    </div>
  );
}

const GIGABYTE = 1e9;

function MemoryLimit({ limit }: { readonly limit: number | null }): ReactNode {
  const change = useStart((state) => state.changePreferences);
  const [text, setText] = useState(limit === null ? "" : String(limit / GIGABYTE));
  const value = Number(text.replace(",", "."));
  const isGood = text.trim() === "" || (Number.isFinite(value) && value >= 0.064 && value <= 1e6);
  const keep = (): void => {
    const memoryLimit = text.trim() === "" ? null : Math.round(value * GIGABYTE);
    if (isGood && memoryLimit !== limit) void change({ memoryLimit });
  };
  return (
    <label className={styles["field"]}>
      <span>Memory for models, in GB</span>
      <input
        value={text}
        inputMode="decimal"
        placeholder="all that is free"
        aria-invalid={!isGood}
        onChange={(event) => setText(event.target.value)}
        onBlur={keep}
        onKeyDown={(event) => {
          if (event.key === "Enter") keep();
        }}
      />
      <em>
        {isGood
          ? "For what open models and their conversations take. Another conversation waits where it is full."
          : "Expected 0.064 or more, or nothing."}
      </em>
    </label>
  );
}

/** A browser asks the person first; the shell has the system's own settings for it. */
function Notifications({ isOn }: { readonly isOn: boolean }): ReactNode {
  const change = useStart((state) => state.changePreferences);
  const inShell = useSession((state) => state.showInFolder !== null);
  const [permission, setPermission] = useState(() =>
    typeof Notification === "undefined" ? "denied" : Notification.permission,
  );
  return (
    <div className={styles["field"]}>
      <span>Notifications</span>
      <label className={styles["check"]}>
        <input
          type="checkbox"
          checked={isOn}
          onChange={(event) => void change({ notifications: event.target.checked })}
        />
        When work of more than 30 seconds has ended and no window is in front
      </label>
      {inShell || !isOn || permission === "granted" ? null : permission === "default" ? (
        <Button small onClick={() => void Notification.requestPermission().then(setPermission)}>
          Allow this page to notify
        </Button>
      ) : (
        <em>This browser lets the page notify nobody.</em>
      )}
    </div>
  );
}

/** Only on a Mac. */
function InFinder(): ReactNode {
  const state = useStart((s) => s.finderAction);
  const ask = useStart((s) => s.askFinderAction);
  useEffect(() => void ask("look"), [ask]);
  if (state === null) return null;
  return (
    <div className={styles["field"]}>
      <span>In Finder</span>
      <label className={styles["check"]}>
        <input
          type="checkbox"
          checked={state === "added"}
          onChange={(event) => void ask(event.target.checked ? "add" : "remove")}
        />
        Open in RLX Workbench, among Quick Actions and Services
      </label>
      <em>Kept in Library/Services of your home folder. It may take until the next login to appear.</em>
    </div>
  );
}

function ModelFolders({ now }: { readonly now: Preferences }): ReactNode {
  const change = useStart((state) => state.changePreferences);
  const add = useStart((state) => state.addFolder);
  const remove = useStart((state) => state.removeFolder);
  const pick = useSession((state) => state.pickFolder);
  const [path, setPath] = useState("");
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const wanted = typedPath(path);
    if (wanted !== "") void add(wanted).then((done) => done && setPath(""));
  };
  return (
    <section className={styles["folders"]} aria-label="Model folders">
      <h3>Where models are looked for</h3>
      <label className={styles["check"]}>
        <input
          type="checkbox"
          checked={now.findModels}
          onChange={(event) => void change({ findModels: event.target.checked })}
        />
        Where LM Studio, Ollama, Hugging Face and llama.cpp keep theirs (read only)
      </label>
      {now.modelFolders.map((folder) => (
        <div key={folder} className={styles["folder"]}>
          <code title={folder}>{folder}</code>
          <IconButton label={`No longer look in ${folder}`} onClick={() => void remove(folder)}>
            ×
          </IconButton>
        </div>
      ))}
      <form className={styles["row"]} onSubmit={submit}>
        <input
          aria-label="A folder with models, on the engine's machine"
          placeholder="~/models"
          value={path}
          spellCheck={false}
          onChange={(event) => setPath(event.target.value)}
        />
        <button type="submit" className={styles["add"]} disabled={path.trim() === ""}>
          Add
        </button>
        {pick === null ? null : (
          <Button onClick={() => void pick().then((chosen) => chosen !== null && add(chosen))}>Choose…</Button>
        )}
      </form>
    </section>
  );
}

function DataFolder({ view }: { readonly view: PreferencesView }): ReactNode {
  const change = useStart((state) => state.changePreferences);
  const { preferences: now, dataFolder, dataFolderBy } = view;
  const [path, setPath] = useState(now.dataFolder ?? "");
  const isFixed = dataFolderBy === "RLX_HOME";
  const keep = (): void => {
    const wanted = typedPath(path);
    const next = wanted === "" ? null : wanted;
    if (next !== now.dataFolder) void change({ dataFolder: next });
  };
  const waits = !isFixed && now.dataFolder !== null && now.dataFolder !== dataFolder;
  return (
    <label className={styles["field"]}>
      <span>Data folder</span>
      <input
        value={path}
        disabled={isFixed}
        placeholder={dataFolder}
        spellCheck={false}
        onChange={(event) => setPath(event.target.value)}
        onBlur={keep}
      />
      <em>
        {isFixed
          ? `RLX_HOME names it: ${dataFolder}`
          : waits
            ? `From the next start on. Until then: ${dataFolder}`
            : "Recents, sessions and histories. Empty: the usual place."}
      </em>
    </label>
  );
}
