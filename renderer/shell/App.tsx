/** The window: start screen or session, the dialogs over both, drops and shortcuts for all of it. */
import type { ReactNode } from "react";
import { useEffect, useMemo, useRef } from "react";
import { SESSION_ENDING } from "../../main/contract/views/session.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { Start } from "../features/start/Start.tsx";
import { StoreProvider } from "../session/context.tsx";
import { ErrorBoundary } from "../ui/ErrorBoundary.tsx";
import { DevicePatterns } from "../ui/patterns.tsx";
import { CommandsContext, useCommands } from "./CommandsContext.ts";
import type { CommandTable } from "./commands.ts";
import { createCommands, isAtStart } from "./commands.ts";
import { Dialogs } from "./Dialogs.tsx";
import { LossBanner, Notices } from "./Notices.tsx";
import { MissingModelBanner } from "./MissingModel.tsx";
import { SessionWindow } from "./SessionWindow.tsx";
import { StartPage } from "./StartPage.tsx";
import { StatusBar } from "./StatusBar.tsx";
import type { WorkbenchStore } from "./store.ts";
import { StartBar } from "./Toolbar.tsx";
import { announceLongWork } from "./longWork.ts";
import { useDrop } from "./useDrop.ts";
import { useShortcuts } from "./useShortcuts.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export interface AppProps {
  readonly store: WorkbenchStore;
  readonly shell: ShellBridge | null;
}

export function App({ store, shell }: AppProps): ReactNode {
  const picker = useRef<HTMLInputElement>(null);
  const sessionPicker = useRef<HTMLInputElement>(null);
  const commands = useMemo(
    () =>
      createCommands({
        ...{ store, shell },
        pickFile: () => picker.current?.click(),
        pickSession: () => sessionPicker.current?.click(),
      }),
    [store, shell],
  );
  useShortcuts(commands, shell);
  useShellEvents(store, shell, commands);
  useEffect(() => announceLongWork(store, shell), [store, shell]);
  useEffect(() => followWidth(store), [store]);
  return (
    <StoreProvider store={store}>
      <CommandsContext value={commands}>
        <DevicePatterns />
        <ErrorBoundary title="The window could not be drawn">
          <Window shell={shell} store={store} />
        </ErrorBoundary>
        <input
          ref={picker}
          type="file"
          hidden
          multiple
          onChange={(event) => {
            const files = [...(event.target.files ?? [])];
            event.target.value = "";
            store.getState().openFiles(files);
          }}
        />
        <input
          ref={sessionPicker}
          type="file"
          hidden
          accept={SESSION_ENDING}
          onChange={(event) => {
            const [file] = event.target.files ?? [];
            event.target.value = "";
            if (file !== undefined) void store.getState().importSession(file);
          }}
        />
        <Dialogs />
        <Notices />
      </CommandsContext>
    </StoreProvider>
  );
}

/** CSS pixels: below, as at a zoom of 200 %, the view has the window to itself until a pane is asked for. */
const LEAST_WIDTH = 1000;

function followWidth(store: WorkbenchStore): () => void {
  const narrow = matchMedia(`(max-width: ${LEAST_WIDTH - 1}px)`);
  const follow = (): void => store.getState().setNarrow(narrow.matches);
  follow();
  narrow.addEventListener("change", follow);
  return () => narrow.removeEventListener("change", follow);
}

function Window({ store, shell }: AppProps): ReactNode {
  const atStart = useWorkbench(isAtStart);
  const page = useWorkbench((state) => state.startPage);
  const dragging = useDrop(store, shell);
  const showDialog = useWorkbench((state) => state.showDialog);
  const commands = useCommands();
  const restores = useWorkbench((state) => state.sessionExpected && state.model.kind === "idle");
  if (!atStart) return <SessionWindow dragging={dragging} mac={shell?.platform === "darwin"} />;
  return (
    <div className={styles["start"]}>
      <StartBar mac={shell?.platform === "darwin"} />
      <div className={styles["banners"]}>
        <LossBanner />
        <MissingModelBanner />
      </div>
      {restores ? (
        <main className={styles["opening"]} aria-label="Opening the session" />
      ) : page !== "first" ? (
        <StartPage page={page} />
      ) : (
        <Start
          dragging={dragging}
          onOpen={commands["file.open"].run}
          onOpenPath={() => showDialog("path")}
          onPair={commands["model.faster"].run}
          onServer={commands["view.server"].run}
          onTrain={commands["view.train"].run}
          onGallery={commands["file.gallery"].run}
          onSettings={commands["file.settings"].run}
        />
      )}
      <StatusBar />
    </div>
  );
}

/** A file that the system asks for comes after the session, which would open its own model over it. */
async function openAfterRestore(store: WorkbenchStore, path: string): Promise<void> {
  await new Promise<void>((resolve) => {
    if (!store.getState().sessionExpected) return resolve();
    const stop = store.subscribe(({ sessionExpected }) => {
      if (sessionExpected) return;
      stop();
      resolve();
    });
  });
  await store.getState().openPaths([path]);
}

/** What comes from the shell: menu items, and files that the system asks to open. */
function useShellEvents(store: WorkbenchStore, shell: ShellBridge | null, commands: CommandTable): void {
  useEffect(() => {
    const run = (id: string): void => {
      const command = (commands as { readonly [id: string]: CommandTable[keyof CommandTable] | undefined })[id];
      if (command?.enabled() === true) command.run();
    };
    if (shell === null) return undefined;
    const stops = [shell.onCommand(run), shell.onOpenFile((path) => void openAfterRestore(store, path))];
    return () => {
      for (const stop of stops) stop();
    };
  }, [store, shell, commands]);
}
