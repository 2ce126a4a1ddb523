/** The first screen: what was opened before, what lies on this machine, what comes with the program, and a place to drop a file. */
import { Download } from "lucide-react";
import type { ReactNode } from "react";
import { SESSION_ENDING } from "../../../main/contract/views/session.ts";
import { openedModelsText } from "../../../main/diagnostics/opens.ts";
import { useSession } from "../../session/context.tsx";
import { notOpened } from "../../session/openSource.ts";
import { Button } from "../../ui/Button.tsx";
import { canHelpAgain, ErrorNote } from "../../ui/ErrorNote.tsx";
import { Found } from "./Found.tsx";
import { Offers } from "./Offers.tsx";
import { Recents } from "./Recents.tsx";
import { Sessions } from "./Sessions.tsx";
import styles from "./Start.module.css";

export interface StartProps {
  readonly dragging: boolean;
  readonly onOpen: () => void;
  readonly onOpenPath: () => void;
  readonly onPair: () => void;
  readonly onServer: () => void;
  readonly onTrain: () => void;
  readonly onGallery: () => void;
  readonly onSettings: () => void;
}

export function Start({
  dragging,
  onOpen,
  onOpenPath,
  onPair,
  onServer,
  onTrain,
  onGallery,
  onSettings,
}: StartProps): ReactNode {
  return (
    <main className={styles["start"]} data-dragging={dragging}>
      <h1 className="visually-hidden">RLX Workbench</h1>
      <div className={styles["columns"]}>
        <div className={styles["left"]}>
          <div className={styles["drop"]}>
            <Download size={32} strokeWidth={1.2} aria-hidden="true" className={styles["arrow"]} />
            <strong>Drop a model anywhere</strong>
            <p>
              One or several: {openedModelsText()}; or a {SESSION_ENDING} file. Files are read in place and nothing
              leaves this machine.
            </p>
            <div className={styles["actions"]}>
              <Button look="primary" onClick={onOpen}>
                Open…
              </Button>
              <Button onClick={onOpenPath}>Paste a path</Button>
            </div>
          </div>
          <Failure />
          <div className={styles["more"]}>
            <Button look="ghost" onClick={onPair}>
              Find the faster of two files…
            </Button>
            <Button look="ghost" onClick={onServer}>
              Serve models to other programs…
            </Button>
            <Button look="ghost" onClick={onTrain}>
              Train a small model…
            </Button>
            <Button look="ghost" onClick={onGallery}>
              New graph…
            </Button>
          </div>
        </div>
        <div className={styles["right"]}>
          <Sessions />
          <Recents />
          <Found onSettings={onSettings} />
        </div>
        <Offers />
      </div>
    </main>
  );
}

function Failure(): ReactNode {
  const error = useSession((state) => (state.model.kind === "failed" ? state.model.error : null));
  const source = useSession((state) => state.source);
  const open = useSession((state) => state.open);
  const close = useSession((state) => state.close);
  if (error === null || source === null) return null;
  return (
    <ErrorNote
      title={notOpened(source)}
      error={error}
      onRetry={canHelpAgain(error) ? () => void open(source) : undefined}
      onClose={close}
    />
  );
}
