/** The model as a Core ML package, as a smaller GGUF, or as other GGUF files. */
import type { ReactNode } from "react";
import { ConvertPanel } from "../features/convert/ConvertPanel.tsx";
import { ExportTab } from "../features/export/ExportTab.tsx";
import { QuantizePanel } from "../features/quantize/QuantizePanel.tsx";
import type { WorkbenchTab } from "../shell/tabs.ts";
import { useCommands } from "../shell/CommandsContext.ts";
import { useWorkbench } from "../shell/useWorkbench.ts";
import { Button } from "../ui/Button.tsx";
import { Segmented } from "../ui/Segmented.tsx";
import { isWriting } from "../writing/writing.ts";
import styles from "../writing/WriteKinds.module.css";

const KINDS = [
  { id: "package", text: "Core ML package" },
  { id: "quantize", text: "Smaller GGUF" },
  { id: "convert", text: "Convert" },
] as const;

const PANELS = { package: ExportTab, quantize: QuantizePanel, convert: ConvertPanel } as const;

function ExportView(): ReactNode {
  const kind = useWorkbench((state) => state.writeKind);
  const setKind = useWorkbench((state) => state.setWriteKind);
  const commands = useCommands();
  const Panel = PANELS[kind];
  return (
    <div className={styles["view"]}>
      <div className={styles["kinds"]}>
        <Segmented label="What to write" value={kind} options={KINDS} onChange={setKind} />
        <Button onClick={commands["file.saveReport"].run}>Report…</Button>
      </div>
      <Panel />
    </div>
  );
}

export const tab: WorkbenchTab = {
  isShown: () => true,
  View: ExportView,
  work: {
    isBusy: ({ exporting, quantizing, converting }) => [exporting, quantizing, converting].some(isWriting),
    stop: ({ exportActions, quantizeActions, convertActions }) => {
      for (const actions of [exportActions, quantizeActions, convertActions]) actions.stop();
    },
  },
};
