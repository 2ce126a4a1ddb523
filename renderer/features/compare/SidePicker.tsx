/** One side of a comparison: which model, run, result or session it is, and what it runs on. */
import type { ReactNode } from "react";
import { useEffect, useId, useState } from "react";
import type { Side } from "../../../main/contract/views/compare.ts";
import type { FoundModel } from "../../../main/contract/views/found.ts";
import { fileName } from "../../../main/contract/views/session.ts";
import { fileTitles } from "../../session/fileTitles.ts";
import { typedPath } from "../../session/openSource.ts";
import { current } from "../../session/async.ts";
import { Button } from "../../ui/Button.tsx";
import type { SideChoice, SideModel } from "./sides.ts";
import { keyOf, TARGETS } from "./sides.ts";
import { useCompare } from "./useCompare.ts";
import styles from "./Compare.module.css";

interface Group {
  readonly title: string;
  readonly options: readonly { readonly model: SideModel; readonly title: string; readonly hint?: string }[];
}

const ANOTHER = "another";
const NONE: readonly FoundModel[] = [];

function useGroups(choice: SideChoice): readonly Group[] {
  const open = useCompare((s) => current(s.model));
  const recents = useCompare((s) => current(s.recents));
  const runs = useCompare((s) => s.runHistory);
  const benches = useCompare((s) => s.benchResults);
  const sessions = useCompare((s) => current(s.sessions));
  const models = useCompare((s) => current(s.found)?.models ?? NONE);
  const paths = (recents ?? [])
    .filter(({ path, exists }) => exists && path !== open?.file?.path)
    .map(({ path }) => path);
  const { model } = choice;
  // A path that was typed is in no list yet.
  const all = model.kind === "file" && !paths.includes(model.path) ? [model.path, ...paths] : paths;
  const lying = models
    .filter(({ path, problem }) => problem === null && path !== open?.file?.path && !all.includes(path))
    .map(({ path }) => path);
  const listed = [...all, ...lying];
  const titles = fileTitles(open?.file?.path ? [...listed, open.file.path] : listed);
  const choices = (of: readonly string[]): Group["options"] =>
    of.map((path) => ({ model: { kind: "file", path }, title: titles.get(path) ?? fileName(path), hint: path }));
  const name = [open?.title ?? "", open?.variant ?? ""].filter((part) => part !== "").join(" ");
  return [
    { title: "This window", options: [{ model: { kind: "open" }, title: name }] },
    { title: "Files", options: choices(all) },
    { title: "Found on this computer", options: choices(lying) },
    {
      title: "Answers",
      options: runs.map(({ id, mode, prompt }) => ({
        model: { kind: "run", id },
        title: `${mode === "chat" ? "Chat" : "Text"} ${id}: ${prompt.slice(0, 40)}`,
      })),
    },
    {
      title: "Benchmarks",
      options: benches.flatMap(({ id, result }) =>
        result.subjects.map(({ device, threads, title }, subject) => ({
          model: { kind: "bench", id, subject } as const,
          title: `Bench ${id}: ${title}, ${device}, ${threads} thread${threads === 1 ? "" : "s"}`,
        })),
      ),
    },
    {
      title: "Sessions",
      options: (sessions ?? [])
        .filter(({ problem, models }) => problem === null && models.length > 0)
        .map(({ session, models, savedAt }) => ({
          model: { kind: "session", session },
          title: `${models[0] ?? ""}, ${new Date(savedAt).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hour12: false })}`,
        })),
    },
  ];
}

export function SidePicker({ side, choice }: { readonly side: Side; readonly choice: SideChoice }): ReactNode {
  const choose = useCompare((s) => s.chooseSide);
  const loadSessions = useCompare((s) => s.loadSessions);
  const pick = useCompare((s) => s.pickFile);
  const [typing, setTyping] = useState(false);
  const groups = useGroups(choice);
  const id = useId();
  useEffect(() => void loadSessions(), [loadSessions]);
  const take = (value: string): void => {
    if (value !== ANOTHER) return choose(side, { ...choice, model: JSON.parse(value) as SideModel });
    if (pick === null) return setTyping(true);
    void pick().then((path) =>
      path === null ? undefined : choose(side, { ...choice, model: { kind: "file", path } }),
    );
  };
  const letter = side.toUpperCase();
  return (
    <div className={styles["side"]} role="group" aria-label={`Side ${letter}`}>
      <strong aria-hidden="true">{letter}</strong>
      <div className={styles["fields"]}>
        <label htmlFor={`${id}-what`} className="visually-hidden">
          What {letter} is
        </label>
        <select id={`${id}-what`} value={keyOf(choice.model)} onChange={(event) => take(event.target.value)}>
          {groups.map(({ title, options }) =>
            options.length === 0 ? null : (
              <optgroup key={title} label={title}>
                {options.map((option) => (
                  <option key={keyOf(option.model)} value={keyOf(option.model)} title={option.hint}>
                    {option.title}
                  </option>
                ))}
              </optgroup>
            ),
          )}
          <option value={ANOTHER}>Another file…</option>
        </select>
        <label htmlFor={`${id}-on`} className="visually-hidden">
          What {letter} runs on
        </label>
        <select
          id={`${id}-on`}
          value={keyOf(choice.on)}
          onChange={(event) => choose(side, { ...choice, on: JSON.parse(event.target.value) as SideChoice["on"] })}
        >
          {TARGETS.map(({ on, title }) => (
            <option key={keyOf(on)} value={keyOf(on)}>
              {on === null && choice.model.kind === "session" ? "As that session" : title}
            </option>
          ))}
        </select>
        {typing ? (
          <PathForm
            onTake={(path) => {
              setTyping(false);
              if (path !== null) choose(side, { ...choice, model: { kind: "file", path } });
            }}
          />
        ) : null}
      </div>
    </div>
  );
}

function PathForm({ onTake }: { readonly onTake: (path: string | null) => void }): ReactNode {
  const [path, setPath] = useState("");
  return (
    <form
      className={styles["path"]}
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = typedPath(path);
        if (wanted !== "") onTake(wanted);
      }}
    >
      <input
        aria-label="Path of a model on the engine’s machine"
        placeholder="~/Models/model.gguf"
        value={path}
        autoFocus
        spellCheck={false}
        onChange={(event) => setPath(event.target.value)}
      />
      <Button small onClick={() => onTake(null)}>
        Cancel
      </Button>
    </form>
  );
}
