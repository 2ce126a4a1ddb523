/** The inspector: what is selected, or what belongs to the tab that is shown. */
import type { ReactNode } from "react";
import { BenchInspector } from "../features/bench/BenchInspector.tsx";
import { blockNote, shownGraph } from "../features/graph/graphState.ts";
import { Inspector } from "../features/inspector/Inspector.tsx";
import { PassInspector } from "../features/pipeline/PassInspector.tsx";
import { ProfileInspector } from "../features/profile/ProfileInspector.tsx";
import { WhereCard } from "../features/profile/WhereCard.tsx";
import { NodeRouteCard } from "../features/route/NodeRouteCard.tsx";
import { SegmentPlan } from "../features/route/SegmentPlan.tsx";
import { RunInspector } from "../features/run/RunInspector.tsx";
import { TensorInspector } from "../features/tensors/TensorInspector.tsx";
import { current } from "../session/async.ts";
import { useShowNode } from "./useShowNode.ts";
import { useWorkbench, useWorkbenchApi } from "./useWorkbench.ts";
import styles from "./InspectorPanel.module.css";

export function InspectorPanel(): ReactNode {
  const tab = useWorkbench((state) => state.tab);
  const showNode = useWorkbench((state) => state.showNode);
  const tensor = useWorkbench((state) => state.chosenTensor);
  const showMil = useWorkbench((state) => state.showMil);
  const choosePass = useWorkbench((state) => state.choosePass);
  const showPass = useWorkbench((state) => state.showPass);
  const showTensor = useWorkbench((state) => state.showTensor);
  const showSource = useWorkbench((state) => state.showSource);
  const passes = useWorkbench((state) => state.passChoices);
  const model = useWorkbench((state) => current(shownGraph(state)));
  const runs = useWorkbench((state) => current(state.model)?.canRun.ok === true);
  const api = useWorkbenchApi();
  const showLegalNode = useShowNode();
  const setTab = useWorkbench((state) => state.setTab);
  const go = (act: () => void): void => {
    act();
    setTab("graph");
  };
  return (
    // Reachable by keyboard, because it scrolls.
    <aside className={styles["inspector"]} aria-label="Inspector" tabIndex={0}>
      {tab === "run" && runs ? (
        <RunInspector>
          <WhereCard />
        </RunInspector>
      ) : tab === "profile" && runs ? (
        <ProfileInspector onNode={showLegalNode} />
      ) : tab === "bench" && runs ? (
        <BenchInspector />
      ) : tab === "tensors" && tensor !== null ? (
        <TensorInspector tensor={tensor} onNode={showLegalNode} />
      ) : tab === "pipeline" ? (
        <PassInspector onNode={(node) => go(() => showNode(node))} onGraph={showPass} />
      ) : (
        <Inspector
          onNode={(node) => go(() => showNode(node))}
          onMil={showMil}
          onPass={(name) => {
            const pass = passes.find((each) => each.name === name && each.changed);
            if (pass === undefined) return;
            choosePass(pass.name);
            setTab("pipeline");
          }}
          isPass={(name) => passes.some((each) => each.name === name && each.changed)}
          onTensor={showTensor}
          onSource={showSource}
          model={model}
          noteOf={(group) => blockNote(api.getState(), group)}
          routeOfNode={(node) => <NodeRouteCard node={node} />}
          routeOfSegment={(index) => <SegmentPlan index={index} />}
        />
      )}
    </aside>
  );
}
