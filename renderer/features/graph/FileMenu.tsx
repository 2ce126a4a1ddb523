/** The graph as a picture, and numbers for its nodes from a file and into one. */
import type { ReactNode } from "react";
import { Button } from "../../ui/Button.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import { FileOut } from "../../writing/FileOut.tsx";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function FileMenu(): ReactNode {
  const save = useGraph((s) => s.savePicture);
  const make = useGraph((s) => s.makePicture);
  const saveData = useGraph((s) => s.saveNodeData);
  const openData = useGraph((s) => s.openNodeData);
  const picker = useFilePicker({
    label: "Open node data",
    accept: ".json,application/json",
    onFiles: ([file]) => void openData(file),
  });
  return (
    <Popover label="Save or overlay the graph" trigger="Save" width={290} firm>
      <div className={styles["files"]}>
        <p>What is shown</p>
        <Button small onClick={() => void save("png", "shown")}>
          PNG
        </Button>
        <Button small onClick={() => void save("svg", "shown")}>
          SVG
        </Button>
        <p>The whole graph</p>
        <Button small onClick={() => void save("png", "whole")}>
          PNG
        </Button>
        <Button small onClick={() => void save("svg", "whole")}>
          SVG
        </Button>
        <FileOut file={{ name: "the picture", make: () => make("png", "shown") }} />
        <p>Node data, as JSON</p>
        <Button small onClick={saveData}>
          Save
        </Button>
        <Button small onClick={picker.open}>
          Open…
        </Button>
        {picker.input}
      </div>
    </Popover>
  );
}
