/** Models that lie on the engine's machine: of other programs, and in folders that the user names. New ones appear by themselves. */
import type { ReactNode } from "react";
import { useEffect, useState } from "react";
import type { FoundList, FoundModel } from "../../../main/contract/views/found.ts";
import { current } from "../../session/async.ts";
import { useSession, sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { deviceLook } from "../../ui/devices.ts";
import { Item } from "./Item.tsx";
import { sizeText } from "./Recents.tsx";
import type { StartSlice } from "./slice.ts";
import styles from "./Start.module.css";

const useStart = sliceHook<StartSlice>();
const SHOWN = 6;

export function Found({ onSettings }: { readonly onSettings: () => void }): ReactNode {
  const found = useStart((state) => current(state.found));
  const failure = useStart((state) => (state.found.kind === "failed" ? state.found.error.message : null));
  const connected = useSession((state) => state.connection === "connected");
  const watch = useStart((state) => state.watchFound);
  const isMac = useSession((state) => current(state.info)?.platform === "darwin");
  const recents = useSession((state) => current(state.recents));
  const [all, setAll] = useState(false);
  useEffect(() => (connected ? watch() : undefined), [connected, watch]);
  const known = new Set((recents ?? []).map(({ path }) => path));
  const models = (found?.models ?? []).filter(({ path }) => !known.has(path));
  const notes = (found?.places ?? []).flatMap(({ folder, note }) => (note === null ? [] : [`${folder}: ${note}`]));
  return (
    <section className={styles["group"]} aria-labelledby="start-found">
      <div className={styles["head"]}>
        <h2 id="start-found">{isMac ? "Found on this Mac" : "Found on this computer"}</h2>
        <Button look="ghost" small onClick={onSettings}>
          Folders…
        </Button>
      </div>
      {(all ? models : models.slice(0, SHOWN)).map((model) => (
        <FoundItem key={model.path} model={model} />
      ))}
      {models.length > SHOWN ? (
        <Button look="ghost" small onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${models.length}`}
        </Button>
      ) : null}
      <p className={styles["quiet"]} role="status">
        {failure ?? (found === null ? LOOKING : sentenceOf(found, models.length))}
      </p>
      {notes.map((note) => (
        <p key={note} className={styles["quiet"]}>
          {note}
        </p>
      ))}
    </section>
  );
}

const LOOKING = "Looking where LM Studio, Ollama, Hugging Face and llama.cpp keep models…";

export function sentenceOf({ complete, usual, models }: FoundList, shown: number): string {
  if (!complete) return LOOKING;
  if (models.length === 0)
    return usual
      ? "No models of LM Studio, Ollama, Hugging Face or llama.cpp. Folders of yours can be added."
      : "Looking for models of other programs is switched off. Folders of yours can be added.";
  return shown === 0 ? "All that was found is in the list above." : "";
}

function FoundItem({ model }: { readonly model: FoundModel }): ReactNode {
  const open = useSession((state) => state.open);
  const { name, where, path, variant, bytes, parts, problem } = model;
  return (
    <button
      type="button"
      className={styles["item"]}
      disabled={problem !== null}
      title={path}
      onClick={() => void open({ kind: "path", path })}
    >
      <Item
        glyph={deviceLook("gpu").glyph}
        kind="A model found on this machine"
        title={name}
        sentence={problem ?? where}
        aside={sizeText(variant, bytes)}
        below={parts > 1 ? `${parts} parts` : ""}
      />
    </button>
  );
}
