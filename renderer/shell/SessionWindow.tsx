/** The session: bar, ribbon, navigator, the selected tab, inspector, status. */
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect } from "react";
import { Group, Panel } from "react-resizable-panels";
import { Ribbon } from "../features/route/Ribbon.tsx";
import { TABS } from "../../main/contract/commands.ts";
import { current } from "../session/async.ts";
import { ErrorBoundary } from "../ui/ErrorBoundary.tsx";
import { Progress } from "../ui/states.tsx";
import { focusView } from "./commands.ts";
import { FindBar } from "./FindBar.tsx";
import { InspectorPanel } from "./InspectorPanel.tsx";
import { LogPane } from "./LogPane.tsx";
import { Navigator } from "./Navigator.tsx";
import { MissingModelBanner } from "./MissingModel.tsx";
import { LossBanner } from "./Notices.tsx";
import { Edge, SidePane, usePane } from "./Panes.tsx";
import { LEAST_VIEW } from "./panes.ts";
import { StatusBar } from "./StatusBar.tsx";
import { shownTabs, tabOf } from "./tabs.ts";
import { Toolbar } from "./Toolbar.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function SessionWindow({ dragging, mac }: { readonly dragging: boolean; readonly mac: boolean }): ReactNode {
  const navigator = useWorkbench((state) => state.navigatorShown);
  const inspector = useWorkbench((state) => state.inspectorShown);
  const log = useWorkbench((state) => state.logShown);
  const panes = { navigator: usePane("navigator"), inspector: usePane("inspector"), log: usePane("log") };
  return (
    <div className={styles["window"]}>
      <Toolbar mac={mac} />
      <Ribbon />
      <div className={styles["banners"]}>
        <LossBanner />
        <MissingModelBanner />
      </div>
      <Group orientation="vertical" className={styles["body"]} onLayoutChanged={(_, meta) => panes.log.remember(meta)}>
        <Panel id="upper" minSize={LEAST_VIEW.height} className={styles["upper"]}>
          <Group
            onLayoutChanged={(_, meta) => {
              panes.navigator.remember(meta);
              panes.inspector.remember(meta);
            }}
          >
            {navigator ? (
              <>
                <SidePane control={panes.navigator}>
                  <Navigator />
                </SidePane>
                <Edge control={panes.navigator} label="Width of the navigator" />
              </>
            ) : null}
            <Panel id="main" minSize={LEAST_VIEW.width} className={styles["upper"]}>
              <Main />
            </Panel>
            {inspector ? (
              <>
                <Edge control={panes.inspector} label="Width of the inspector" />
                <SidePane control={panes.inspector}>
                  <InspectorPanel />
                </SidePane>
              </>
            ) : null}
          </Group>
        </Panel>
        {log ? (
          <>
            <Edge control={panes.log} label="Height of the log" />
            <SidePane control={panes.log}>
              <LogPane />
            </SidePane>
          </>
        ) : null}
      </Group>
      <StatusBar />
      {dragging ? <DropHint /> : null}
    </div>
  );
}

function DropHint(): ReactNode {
  const canAttach = useWorkbench((state) => state.tab === "run" && document.getElementById("composer") !== null);
  return (
    <div className={styles["dropHint"]}>
      {canAttach ? "Drop to open; on the message field, to attach a text file" : "Drop to open"}
    </div>
  );
}

function Main(): ReactNode {
  const tab = useWorkbench((state) => state.tab);
  const setTab = useWorkbench((state) => state.setTab);
  const opening = useWorkbench((state) => state.openingTitle);
  const opened = useWorkbench((state) => current(state.model) !== null);
  // A string, so that the list changes only when a tab does.
  const shown = useWorkbench((state) => shownTabs(state).join(" ")).split(" ");
  const tabs = TABS.filter(({ id }) => shown.includes(id));
  const title = TABS.find(({ id }) => id === tab)?.title ?? "";
  const { View } = tabOf(tab);
  useEffect(() => {
    // The focus moves into the opened view, not to the first button of the bar.
    if (opened && document.activeElement === document.body) focusView();
  }, [opened]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(tabs.findIndex(({ id }) => id === tab) + step + tabs.length) % tabs.length]?.id;
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <main className={styles["main"]}>
      <div className={styles["tabs"]} role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
        {tabs.map(({ id, title: name }) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            data-text={name}
            aria-selected={id === tab}
            aria-controls="view"
            tabIndex={id === tab ? 0 : -1}
            onClick={() => setTab(id)}
          >
            {name}
          </button>
        ))}
      </div>
      {opened ? <FindBar /> : null}
      <div
        className={styles["view"]}
        id="view"
        role="tabpanel"
        tabIndex={-1}
        aria-labelledby={opened ? `tab-${tab}` : undefined}
        aria-label={opened ? undefined : "Opening"}
      >
        {opened ? (
          <ErrorBoundary key={tab} title={`${title} could not be drawn`}>
            <View />
          </ErrorBoundary>
        ) : (
          <div className={styles["opening"]}>
            {/* Another file begins another clock. */}
            <Progress key={opening} sentence={`Reading the header of ${opening}`} fraction={null} />
          </div>
        )}
      </div>
    </main>
  );
}
