/** The session: bar, ribbon, navigator, the selected tab, inspector, status. */
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect } from "react";
import { Group, Panel } from "react-resizable-panels";
import { BenchTab } from "../features/bench/BenchTab.tsx";
import { ExportTab } from "../features/export/ExportTab.tsx";
import { GraphTab } from "../features/graph/GraphTab.tsx";
import { PipelineTab } from "../features/pipeline/PipelineTab.tsx";
import { ProfileTab } from "../features/profile/ProfileTab.tsx";
import { Ribbon } from "../features/route/Ribbon.tsx";
import { RunTab } from "../features/run/RunTab.tsx";
import { TensorsTab } from "../features/tensors/TensorsTab.tsx";
import { current } from "../session/async.ts";
import type { Tab } from "../session/types.ts";
import { ErrorBoundary } from "../ui/ErrorBoundary.tsx";
import { Progress } from "../ui/states.tsx";
import { focusView, shownTabs } from "./commands.ts";
import { InspectorPanel } from "./InspectorPanel.tsx";
import { LogPane } from "./LogPane.tsx";
import { Navigator } from "./Navigator.tsx";
import { OverviewView } from "./OverviewView.tsx";
import { LossBanner } from "./Notices.tsx";
import { Edge, SidePane, usePane } from "./Panes.tsx";
import { LEAST_VIEW } from "./panes.ts";
import { StatusBar } from "./StatusBar.tsx";
import { Toolbar } from "./Toolbar.tsx";
import { useWorkbench, useWorkbenchApi } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

const NAMES: { readonly [T in Tab]: string } = {
  overview: "Overview",
  tensors: "Tensors",
  graph: "Graph",
  pipeline: "Pipeline",
  run: "Run",
  bench: "Bench",
  profile: "Profile",
  export: "Export",
};

const VIEWS: { readonly [T in Tab]: () => ReactNode } = {
  overview: OverviewView,
  tensors: TensorsTab,
  graph: GraphTab,
  pipeline: PipelineTab,
  run: RunTab,
  bench: BenchTab,
  profile: ProfileTab,
  export: ExportTab,
};

export function SessionWindow({ dragging, mac }: { readonly dragging: boolean; readonly mac: boolean }): ReactNode {
  const navigator = useWorkbench((state) => state.navigatorShown);
  const inspector = useWorkbench((state) => state.inspectorShown);
  const log = useWorkbench((state) => state.logShown);
  const panes = { navigator: usePane("navigator"), inspector: usePane("inspector"), log: usePane("log") };
  return (
    <div className={styles["window"]}>
      <Toolbar mac={mac} />
      <Ribbon />
      <LossBanner />
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
      {dragging ? <div className={styles["dropHint"]}>Drop to open</div> : null}
    </div>
  );
}

function Main(): ReactNode {
  const api = useWorkbenchApi();
  const tab = useWorkbench((state) => state.tab);
  const setTab = useWorkbench((state) => state.setTab);
  const title = useWorkbench((state) => state.openingTitle);
  const opened = useWorkbench((state) => current(state.model) !== null);
  // A string, so that the list changes only when a tab does.
  const shown = useWorkbench(() => shownTabs(api).join(" "));
  const tabs = shown === "" ? [] : (shown.split(" ") as Tab[]);
  const View = VIEWS[tab];
  useEffect(() => {
    // Those who work by keyboard go on in what they opened, not at the first button of the bar.
    if (opened && document.activeElement === document.body) focusView();
  }, [opened]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <main className={styles["main"]}>
      <div className={styles["tabs"]} role="tablist" aria-label="Views" onKeyDown={onKeyDown}>
        {tabs.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            data-text={NAMES[name]}
            aria-selected={name === tab}
            aria-controls="view"
            tabIndex={name === tab ? 0 : -1}
            onClick={() => setTab(name)}
          >
            {NAMES[name]}
          </button>
        ))}
      </div>
      <div
        className={styles["view"]}
        id="view"
        role="tabpanel"
        tabIndex={-1}
        aria-labelledby={opened ? `tab-${tab}` : undefined}
        aria-label={opened ? undefined : "Opening"}
      >
        {opened ? (
          <ErrorBoundary key={tab} title={`${NAMES[tab]} could not be drawn`}>
            <View />
          </ErrorBoundary>
        ) : (
          <div className={styles["opening"]}>
            {/* Another file begins another clock. */}
            <Progress key={title} sentence={`Reading the header of ${title}`} fraction={null} />
          </div>
        )}
      </div>
    </main>
  );
}
