/** The inspector: what belongs to the tab that is shown, or what is selected. */
import type { ReactNode } from "react";
import { blockNote, stackBlocks } from "../features/graph/graphState.ts";
import { shownGraph } from "../drawing/pictureState.ts";
import { AdviceCards } from "../features/advice/AdviceCards.tsx";
import { Inspector } from "../features/inspector/Inspector.tsx";
import { NodeRouteCard } from "../features/route/NodeRouteCard.tsx";
import { SegmentPlan } from "../features/route/SegmentPlan.tsx";
import { current } from "../session/async.ts";
import { applyAdvice } from "./applyAdvice.ts";
import { tabOf } from "./tabs.ts";
import { useWorkbench, useWorkbenchApi } from "./useWorkbench.ts";
import styles from "./InspectorPanel.module.css";

export function InspectorPanel(): ReactNode {
  const tab = useWorkbench((state) => state.tab);
  const { Inspector: Own } = tabOf(tab);
  return (
    // Reachable by keyboard, because it scrolls.
    <aside className={styles["inspector"]} aria-label="Inspector" tabIndex={0}>
      {Own === undefined ? (
        <Selected />
      ) : (
        <Own>
          <Selected />
        </Own>
      )}
    </aside>
  );
}

/** What is selected, with the ways that lead on from it. */
function Selected(): ReactNode {
  const showNode = useWorkbench((state) => state.showNode);
  const showMil = useWorkbench((state) => state.showMil);
  const choosePass = useWorkbench((state) => state.choosePass);
  const showTensor = useWorkbench((state) => state.showTensor);
  const showSource = useWorkbench((state) => state.showSource);
  const setTab = useWorkbench((state) => state.setTab);
  const passes = useWorkbench((state) => state.passChoices);
  const model = useWorkbench((state) => current(shownGraph(state)));
  const showGroup = useWorkbench((state) => state.showGroup);
  // A stack is one as long as it is folded.
  const picture = useWorkbench((state) => current(state.picture));
  const api = useWorkbenchApi();
  const changedPass = (name: string) => passes.find((each) => each.name === name && each.changed);
  return (
    <Inspector
      onNode={(node) => {
        showNode(node);
        setTab("graph");
      }}
      onMil={showMil}
      onPass={(name) => {
        const pass = changedPass(name);
        if (pass === undefined) return;
        choosePass(pass.name);
        setTab("pipeline");
      }}
      isPass={(name) => changedPass(name) !== undefined}
      onTensor={showTensor}
      onSource={showSource}
      model={model}
      noteOf={(group) => blockNote(api.getState(), group)}
      stackOf={(group) => stackBlocks(picture, group)}
      onGroup={(group) => {
        showGroup(group);
        setTab("graph");
      }}
      routeOfNode={(node) => <NodeRouteCard node={node} />}
      routeOfSegment={(index) => <SegmentPlan index={index} />}
      advice={
        <AdviceCards
          onOp={(node) => {
            showNode(node);
            setTab("graph");
          }}
          onApply={(advice) => applyAdvice(advice, api.getState())}
        />
      }
    />
  );
}
