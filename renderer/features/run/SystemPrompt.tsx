/** The system prompt, where it stands: above the first question. It holds for every answer that comes from now on. */
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useState } from "react";
import { Button } from "../../ui/Button.tsx";
import { GrowingText } from "../../ui/GrowingText.tsx";
import { useRun } from "./useRun.ts";
import styles from "./Turn.module.css";

export function SystemPrompt(): ReactNode {
  const isChat = useRun((s) => s.runMode === "chat");
  const system = useRun((s) => s.parameters.system);
  const set = useRun((s) => s.setParameters);
  const running = useRun((s) => s.running !== null);
  const [writing, setWriting] = useState(false);
  if (!isChat) return null;
  if (system === "" && !writing)
    return (
      <div className={styles["noSystem"]}>
        <Button small look="ghost" disabled={running} onClick={() => setWriting(true)}>
          <Plus size={13} aria-hidden="true" /> System prompt
        </Button>
      </div>
    );
  return (
    <label className={styles["system"]}>
      <span>System prompt</span>
      <GrowingText
        autoFocus={writing}
        placeholder="How the model should answer"
        value={system}
        readOnly={running}
        onChange={(event) => set({ system: event.target.value })}
        onFocus={() => setWriting(true)}
        onBlur={() => setWriting(false)}
      />
    </label>
  );
}
