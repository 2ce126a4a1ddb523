/** The model of a session that is not where it was, or is another one by now: says so and looks for it. */
import type { ReactNode } from "react";
import { useState } from "react";
import { toWireError } from "../../main/diagnostics/errors.ts";
import { Button, IconButton } from "../ui/Button.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function MissingModelBanner(): ReactNode {
  const missing = useWorkbench((state) => state.missing);
  const find = useWorkbench((state) => state.findMissing);
  const dismiss = useWorkbench((state) => state.dismissMissing);
  const [folder, setFolder] = useState("");
  const [said, setSaid] = useState("");
  if (missing === null) return null;
  const look = (): void => {
    setSaid("Looking for it…");
    find(folder.trim() === "" ? null : folder.trim()).then(setSaid, (error: unknown) =>
      setSaid(toWireError(error).message),
    );
  };
  return (
    <div className={styles["missing"]} role="status">
      <span>{missing.sentence}</span>
      {missing.model.headerHash === null ? null : (
        <>
          <input
            aria-label="Folder to look in"
            placeholder="Folder (optional)"
            value={folder}
            spellCheck={false}
            onChange={(event) => setFolder(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") look();
            }}
          />
          <Button small look="primary" onClick={look}>
            Look for it
          </Button>
        </>
      )}
      <em>{said}</em>
      <IconButton label="Dismiss" onClick={dismiss}>
        ×
      </IconButton>
    </div>
  );
}
