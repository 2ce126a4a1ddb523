/** What the chat template is told besides the messages: tools that the model may call, and its variables. */
import type { ReactNode } from "react";
import { useId } from "react";
import { LONGEST_JSON } from "../../../main/contract/views/chat.ts";
import { current } from "../../session/async.ts";
import { textOf } from "../../session/droppedFile.ts";
import { Button } from "../../ui/Button.tsx";
import { ChoiceField } from "../../ui/fields.tsx";
import { useFilePicker } from "../../ui/useFilePicker.tsx";
import { toolNames, wrongTools, wrongVariables } from "./request.ts";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

const EXAMPLE = '[{"type": "function", "function": {"name": "get_weather", "parameters": {…}}}]';

export function ChatSettings(): ReactNode {
  const { tools, variables } = useRun((s) => s.parameters);
  const set = useRun((s) => s.setParameters);
  const template = useRun((s) => current(s.template));
  const isChat = useRun((s) => s.runMode === "chat");
  const id = useId();
  if (!isChat) return null;
  const wrong = wrongTools(tools);
  const [noVariable] = wrongVariables(variables);
  const switches = template?.switches ?? [];
  return (
    <>
      <div className={styles["area"]}>
        <div className={styles["areaHead"]}>
          <label htmlFor={id}>Tools, a JSON list</label>
          <ToolsFile />
        </div>
        <textarea
          id={id}
          rows={3}
          placeholder={EXAMPLE}
          value={tools}
          onChange={(event) => set({ tools: event.target.value })}
        />
      </div>
      {wrong === null ? null : (
        <p className={styles["limit"]} role="status">
          The tools cannot be read: {wrong}
        </p>
      )}
      {tools.trim() === "" ? null : <ToolChoice />}
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
          Left out, because it is not of the form name=value: {noVariable}
        </p>
      )}
    </>
  );
}

function ToolsFile(): ReactNode {
  const set = useRun((s) => s.setParameters);
  const notifyError = useRun((s) => s.notifyError);
  const read = (file: File): Promise<void> =>
    textOf(file, LONGEST_JSON).then(
      (tools) => set({ tools }),
      (error: unknown) => notifyError("The tools could not be read", error),
    );
  const picker = useFilePicker({
    label: "File of tools",
    accept: ".json,application/json",
    onFiles: ([file]) => void read(file),
  });
  return (
    <>
      {picker.input}
      <Button small onClick={picker.open}>
        From a file…
      </Button>
    </>
  );
}

/** Instead of one of these: the name of the tool that has to be called. */
const CHOICES = [
  { id: "auto", title: "As the model likes" },
  { id: "none", title: "None: the model is not told of them" },
  { id: "required", title: "At least one" },
] as const;

function ToolChoice(): ReactNode {
  const { tools, toolChoice } = useRun((s) => s.parameters);
  const set = useRun((s) => s.setParameters);
  const named = toolNames(tools).map((name) => ({ id: name, title: `Always ${name}` }));
  // A name that has left the list stays in sight until another choice is made: with it nothing can be asked.
  const left = { id: toolChoice, title: `${toolChoice}, which is not in the list` };
  const options = [...CHOICES, ...named, left].filter(
    ({ id }, i, all) => all.findIndex((each) => each.id === id) === i,
  );
  return (
    <ChoiceField
      stacked
      label="Use of tools"
      value={toolChoice}
      options={options}
      onChange={(next) => set({ toolChoice: next })}
    />
  );
}
