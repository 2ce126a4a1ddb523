/** The model as a Core ML package, or as a smaller GGUF. */
import type { ReactNode } from "react";
import { useState } from "react";
import { ExportTab } from "../features/export/ExportTab.tsx";
import { QuantizePanel } from "../features/quantize/QuantizePanel.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";
import { Segmented } from "../ui/Segmented.tsx";
import styles from "../features/quantize/WriteKinds.module.css";

const KINDS = [
  { id: "package", text: "Core ML package" },
  { id: "gguf", text: "Smaller GGUF" },
] as const;

function ExportView(): ReactNode {
  const [kind, setKind] = useState<(typeof KINDS)[number]["id"]>("package");
  return (
    <div className={styles["view"]}>
      <div className={styles["kinds"]}>
        <Segmented label="What to write" value={kind} options={KINDS} onChange={setKind} />
      </div>
      {kind === "package" ? <ExportTab /> : <QuantizePanel />}
    </div>
  );
}

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: ExportView,
  work: {
    isBusy: ({ exportRunning, quantizeRunning }) => exportRunning || quantizeRunning,
    stop: ({ stopExport, stopQuantize }) => {
      stopExport();
      stopQuantize();
    },
  },
};
