/** Beside a run: a look at the chat template, and the session's prompt cache as a file. */
import type { ReactNode } from "react";
import { useState } from "react";
import { PROMPT_CACHE_ENDING } from "../../../main/contract/views/promptCache.ts";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { typedPath } from "../../session/openSource.ts";
import { Button } from "../../ui/Button.tsx";
import { Card, Note } from "../../ui/Card.tsx";
import { Dialog } from "../../ui/Dialog.tsx";
import { ErrorNote } from "../../ui/ErrorNote.tsx";
import { bytes } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import type { CachedSession, TemplateSlice } from "./slice.ts";
import { TemplateInspector } from "./TemplateInspector.tsx";
import styles from "./Template.module.css";

const useTemplate = sliceHook<TemplateSlice>();

/** `session`: what chooses the session of the next run. */
export function TemplateTools({ session }: { readonly session: CachedSession }): ReactNode {
  const isFile = useTemplate((s) => current(s.model)?.file ?? null) !== null;
  const [shown, show] = useState<"template" | "cache" | null>(null);
  if (!isFile) return null;
  const close = (): void => show(null);
  return (
    <Card title="Template and prompt cache">
      <div className={styles["buttons"]}>
        <Button small onClick={() => show("template")}>
          Template…
        </Button>
        <Button small onClick={() => show("cache")}>
          Prompt cache…
        </Button>
      </div>
      <Dialog title="Chat template" open={shown === "template"} onClose={close} width={900}>
        <TemplateInspector />
      </Dialog>
      <Dialog title="Prompt cache" open={shown === "cache"} onClose={close}>
        <CacheForm session={session} />
      </Dialog>
    </Card>
  );
}

function CacheForm({ session }: { readonly session: CachedSession }): ReactNode {
  const state = useTemplate((s) => s.promptCache);
  const save = useTemplate((s) => s.savePromptCache);
  const load = useTemplate((s) => s.loadPromptCache);
  const stop = useTemplate((s) => s.stopPromptCache);
  const [path, setPath] = useState("");
  const typed = typedPath(path);
  const place = typed.endsWith(PROMPT_CACHE_ENDING) ? typed : `${typed}${PROMPT_CACHE_ENDING}`;
  const isBusy = state.kind === "loading";
  const done = current(state);
  return (
    <div className={styles["form"]}>
      <input
        aria-label="Path of the prompt cache on the engine’s machine"
        placeholder={`~/talk${PROMPT_CACHE_ENDING}`}
        value={path}
        autoFocus
        spellCheck={false}
        onChange={(event) => setPath(event.target.value)}
      />
      <Note>
        A file on the engine’s machine with the tokens and states of the session that answered last. After a load, the
        next prompt runs only what it does not share. It belongs to this model file.
      </Note>
      <div className={styles["buttons"]}>
        <Button look="primary" disabled={typed === "" || isBusy} onClick={() => void save(place, session)}>
          Save
        </Button>
        <Button disabled={typed === "" || isBusy} onClick={() => void load(place, session)}>
          Load
        </Button>
        {isBusy ? <Button onClick={stop}>Stop</Button> : null}
      </div>
      {isBusy ? <Progress sentence="The session and its file" fraction={null} /> : null}
      {state.kind === "failed" ? <ErrorNote title="The prompt cache" error={state.error} /> : null}
      {done === null || isBusy ? null : (
        <p role="status">
          {done.sentence} {bytes(done.bytes)}, {done.path}
        </p>
      )}
    </div>
  );
}
