/** What the chat template is told besides the messages: tools that the model may call, and its variables. */
import type { ReactNode } from "react";
import { useId } from "react";
import { current } from "../../session/async.ts";
import { wrongTools, wrongVariables } from "./request.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

const EXAMPLE = '[{"type": "function", "function": {"name": "get_weather", "parameters": {…}}}]';

export function ChatSettings(): ReactNode {
  const { tools, variables } = useRun((s) => s.parameters);
  const set = useRun((s) => s.setParameters);
  const template = useRun((s) => current(s.template));
  const isChat = useRun((s) => s.runMode === "chat");
  const file = useId();
  if (!isChat) return null;
  const wrong = wrongTools(tools);
  const [noVariable] = wrongVariables(variables);
  const switches = template?.switches ?? [];
  return (
    <>
      <label className={styles["area"]}>
        <span>Tools, a JSON list</span>
        <textarea
          rows={3}
          placeholder={EXAMPLE}
          value={tools}
          onChange={(event) => set({ tools: event.target.value })}
        />
      </label>
      <label className={styles["file"]} htmlFor={file}>
        <span>or from a file</span>
        <input
          id={file}
          type="file"
          accept=".json,application/json"
          onChange={(event) => {
            const [chosen] = event.target.files ?? [];
            void chosen?.text().then((text) => set({ tools: text }));
          }}
        />
      </label>
      {wrong === null ? null : (
        <p className={styles["limit"]} role="status">
          The tools cannot be read: {wrong}
        </p>
      )}
      {tools.trim() !== "" && template !== null && template.callFamily === null ? (
        <p className={styles["limit"]}>How this model writes calls is not known: they stay text.</p>
      ) : null}
      <label className={styles["area"]}>
        <span>Template variables, one per line{switches.length === 0 ? "" : `; it knows ${switches.join(", ")}`}</span>
        <textarea
          rows={2}
          placeholder={`${switches[0] ?? "enable_thinking"}=false`}
          value={variables}
          onChange={(event) => set({ variables: event.target.value })}
        />
      </label>
      {noVariable === undefined ? null : (
        <p className={styles["limit"]} role="status">
          Left out, because it is no name=value: {noVariable}
        </p>
      )}
    </>
  );
}
