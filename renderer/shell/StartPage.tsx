/** What works without a model: a tab of the session in the place of the first screen, with a way back. */
import type { ReactNode } from "react";
import { ServerTab } from "../features/server/ServerTab.tsx";
import { TrainPage } from "../features/train/TrainPage.tsx";
import { Button } from "../ui/Button.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import type { StartPageName } from "./windowSlice.ts";
import styles from "./Shell.module.css";

const PAGES = {
  server: { title: "Server", View: ServerTab },
  train: { title: "Train", View: TrainPage },
} as const;

export function StartPage({ page }: { readonly page: Exclude<StartPageName, "first"> }): ReactNode {
  const show = useWorkbench((state) => state.showStartPage);
  const { title, View } = PAGES[page];
  return (
    <main className={styles["startPage"]}>
      <div className={styles["pageHead"]}>
        <Button small onClick={() => show("first")}>
          Back to the start
        </Button>
        <h1>{title}</h1>
      </div>
      <View />
    </main>
  );
}
