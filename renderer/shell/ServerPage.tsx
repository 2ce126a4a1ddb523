/** The server for other programs while no model is open: the tab of the session, with a way back. */
import type { ReactNode } from "react";
import { ServerTab } from "../features/server/ServerTab.tsx";
import { Button } from "../ui/Button.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function ServerPage(): ReactNode {
  const show = useWorkbench((state) => state.showStartPage);
  return (
    <main className={styles["serverPage"]}>
      <div className={styles["pageHead"]}>
        <Button small onClick={() => show("first")}>
          Back to the start
        </Button>
        <h1>Server</h1>
      </div>
      <ServerTab />
    </main>
  );
}
