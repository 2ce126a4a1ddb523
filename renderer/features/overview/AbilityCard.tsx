/** Why an action is not possible with this model, and the way out: find the file, or send it. */
import type { ReactNode } from "react";
import { useState } from "react";
import type { Ability } from "../../../main/contract/views/common.ts";
import { toWireError } from "../../../main/diagnostics/errors.ts";
import { useSession } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Card } from "../../ui/Card.tsx";
import { bytes } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { joinSentences } from "./joinSentences.ts";
import styles from "./Overview.module.css";

type No = Exclude<Ability, { ok: true }>;

/** Answers that share a way out: "nothing to run", "nothing to export". `above`: what the page's head says. */
export function AbilityCard({
  abilities,
  above,
}: {
  readonly abilities: readonly No[];
  readonly above: string;
}): ReactNode {
  const [first] = abilities;
  if (first === undefined) return null;
  const isSaid = abilities.every(({ sentence }) => above.startsWith(sentence));
  return (
    <Card
      title={first.offer === "none" ? "What you can do with it" : "The rest of the file"}
      // The code of a fault helps; a header that is only a header, or has the rest elsewhere, is none.
      aside={first.code === "INPUT_ARGUMENT" || first.offer !== "none" ? undefined : first.code}
      className={styles["wide"]}
    >
      <div className={styles["ability"]}>
        <p>
          {/* The way out is the same: where it is offered, one reason is enough. */}
          {isSaid
            ? "So there is nothing to route, run or export."
            : joinSentences((first.offer === "none" ? abilities : [first]).map(({ sentence }) => sentence))}{" "}
          {first.hint === null ? null : <span className={styles["arithmetic"]}>{first.hint}</span>}
        </p>
        {first.offer === "none" ? null : <FindOrSend />}
      </div>
    </Card>
  );
}

function FindOrSend(): ReactNode {
  const [folder, setFolder] = useState("");
  const [said, setSaid] = useState("");
  const locate = useSession((state) => state.locate);
  const sendFile = useSession((state) => state.sendFile);
  const cancelUpload = useSession((state) => state.cancelUpload);
  const upload = useSession((state) => state.upload);
  const canSend = useSession((state) => state.source?.kind === "file");
  const find = (): void => {
    locate(folder.trim() === "" ? null : folder.trim()).then(setSaid, (error: unknown) =>
      setSaid(toWireError(error).message),
    );
  };
  if (upload !== null)
    return (
      <div className={styles["ability"]}>
        <Progress
          sentence={`Sending ${upload.name}, ${bytes(upload.doneBytes)} of ${bytes(upload.totalBytes)}`}
          fraction={upload.totalBytes === 0 ? null : upload.doneBytes / upload.totalBytes}
        />
        <div className={styles["row"]}>
          <Button small onClick={cancelUpload}>
            Cancel
          </Button>
        </div>
      </div>
    );
  return (
    <>
      <div className={styles["row"]}>
        <input
          className={styles["folder"]}
          aria-label="Folder on the engine's machine"
          placeholder="Folder of the file (optional)"
          value={folder}
          onChange={(event) => setFolder(event.target.value)}
        />
        <Button small look="primary" onClick={find}>
          Find it here
        </Button>
        {canSend ? (
          <Button small onClick={() => void sendFile()}>
            Send the file to the engine
          </Button>
        ) : null}
      </div>
      {said === "" ? null : <p role="status">{said}</p>}
    </>
  );
}
