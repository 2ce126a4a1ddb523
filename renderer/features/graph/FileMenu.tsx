/** The graph as a picture, and numbers for its nodes from a file and into one. */
import type { ReactNode } from "react";
import { useRef } from "react";
import { Button } from "../../ui/Button.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { FileOut } from "../../writing/FileOut.tsx";
import { useGraph } from "./useGraph.ts";
import styles from "./Graph.module.css";

export function FileMenu(): ReactNode {
  const save = useGraph((s) => s.savePicture);
  const make = useGraph((s) => s.makePicture);
  const saveData = useGraph((s) => s.saveNodeData);
  const openData = useGraph((s) => s.openNodeData);
  const file = useRef<HTMLInputElement>(null);
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
        <Button small onClick={() => file.current?.click()}>
          Open…
        </Button>
        <input
          ref={file}
          type="file"
          hidden
          accept=".json,application/json"
          aria-label="Open node data"
          onChange={(event) => {
            const [chosen] = event.target.files ?? [];
            if (chosen !== undefined) void openData(chosen);
            // The same file may be opened again.
            event.target.value = "";
          }}
        />
      </div>
    </Popover>
  );
}
