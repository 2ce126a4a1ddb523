/** The settings in a window of their own, as Electron shows them. In a browser the same form is a dialog. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { SettingsForm } from "../features/start/SettingsForm.tsx";
import { StoreProvider } from "../session/context.tsx";
import { ErrorBoundary } from "../ui/ErrorBoundary.tsx";
import { Notices } from "./Notices.tsx";
import type { WorkbenchStore } from "./store.ts";
import styles from "./Shell.module.css";

export function SettingsWindow({ store }: { readonly store: WorkbenchStore }): ReactNode {
  useEffect(() => {
    // The window's title is that of its page.
    document.title = "Settings";
  }, []);
  return (
    <StoreProvider store={store}>
      <ErrorBoundary title="The settings could not be drawn">
        <main className={styles["settingsWindow"]}>
          <h1 className="visually-hidden">Settings</h1>
          <SettingsForm />
        </main>
      </ErrorBoundary>
      <Notices />
    </StoreProvider>
  );
}
