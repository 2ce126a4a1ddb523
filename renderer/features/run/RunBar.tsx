/** Above the conversation: its name, and what answers: one device, or several columns of models and devices. */
import { Columns2, SquarePen, X } from "lucide-react";
import type { ReactNode } from "react";
import { useEffect } from "react";
import type { DeviceInfo, RunDevice } from "../../../main/contract/views/engine.ts";
import { DevicePicker } from "../../devices/DevicePicker.tsx";
import { current } from "../../session/async.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Note } from "../../ui/Card.tsx";
import { Popover } from "../../ui/Popover.tsx";
import { Segmented } from "../../ui/Segmented.tsx";
import type { ColumnChoice, ColumnOrder } from "./columns.ts";
import { MOST_COLUMNS } from "./columns.ts";
import { isEmpty } from "./conversation.ts";
import { ConversationMenu } from "./ConversationMenu.tsx";
import { useRun } from "./useRun.ts";
import styles from "./RunBar.module.css";

const ORDERS: readonly { readonly id: ColumnOrder; readonly text: string; readonly hint: string }[] = [
  { id: "turn", text: "In turn", hint: "One after the other, each with the whole machine, so that speeds compare" },
  { id: "together", text: "At once", hint: "All together: they share the machine, and all are slower for it" },
];

/** The default device of another column: a real one before the simulator, one that no column has before one that has. */
export function otherDevice(devices: readonly DeviceInfo[], taken: readonly RunDevice[]): RunDevice | null {
  const others = devices.filter(({ id, available }) => available && !taken.includes(id));
  return (others.find(({ capabilities }) => capabilities.measure === true) ?? others[0])?.id ?? null;
}

export function RunBar(): ReactNode {
  const device = useRun((s) => s.parameters.device);
  const set = useRun((s) => s.setParameters);
  const beside = useRun((s) => s.beside);
  const setBeside = useRun((s) => s.setBeside);
  const order = useRun((s) => s.columnOrder);
  const setOrder = useRun((s) => s.setColumnOrder);
  const running = useRun((s) => s.running !== null);
  const devices = useRun((s) => current(s.info)?.devices ?? null);
  const other = otherDevice(devices ?? [], [device, ...beside.map((each) => each.device)]) ?? device;
  const isFull = beside.length + 1 >= MOST_COLUMNS;
  const first = (
    <DevicePicker
      label="Answers on"
      lead="Answers on"
      value={device}
      disabled={running}
      onChange={(next) => set({ device: next })}
    />
  );
  return (
    <div className={styles["bar"]}>
      <div className={styles["which"]}>
        <ConversationMenu />
        <NewConversation />
      </div>
      <div className={styles["where"]} role="group" aria-label="Where answers are made">
        {beside.length === 0 ? first : <Segmented label="Order" value={order} options={ORDERS} onChange={setOrder} />}
        <Button
          small
          disabled={running || isFull}
          title={
            isFull
              ? `${MOST_COLUMNS} columns at most`
              : "The same question, with the same seed, on another device or by another model"
          }
          onClick={() => setBeside([...beside, { device: other, model: null }])}
        >
          <Columns2 size={13} aria-hidden="true" /> Add a column
        </Button>
      </div>
      {beside.length === 0 ? null : (
        <div className={styles["columns"]} role="group" aria-label="Columns">
          {first}
          {beside.map((choice, i) => (
            <ColumnPicker
              key={i}
              number={i + 2}
              choice={choice}
              onChange={(next) => setBeside(beside.map((each, at) => (at === i ? next : each)))}
              onRemove={() => setBeside(beside.filter((_, at) => at !== i))}
            />
          ))}
        </div>
      )}
    </div>
  );
}

function NewConversation(): ReactNode {
  const isBlank = useRun((s) => isEmpty({ ...s, name: s.conversation.name }));
  const renew = useRun((s) => s.newConversation);
  return (
    <IconButton label="New conversation" disabled={isBlank} onClick={renew}>
      <SquarePen size={14} aria-hidden="true" />
    </IconButton>
  );
}

interface ColumnPickerProps {
  readonly number: number;
  readonly choice: ColumnChoice;
  readonly onChange: (choice: ColumnChoice) => void;
  readonly onRemove: () => void;
}

function ColumnPicker({ number, choice, onChange, onRemove }: ColumnPickerProps): ReactNode {
  const running = useRun((s) => s.running !== null);
  return (
    <span className={styles["column"]}>
      <DevicePicker
        label={`Device of column ${number}`}
        lead="and on"
        value={choice.device}
        disabled={running}
        onChange={(device) => onChange({ ...choice, device })}
      />
      {running ? (
        choice.model === null ? null : (
          <span className={styles["model"]}>{choice.model.title}</span>
        )
      ) : (
        <Popover
          small
          label={`Model of column ${number}`}
          width={340}
          trigger={<b className={styles["model"]}>{choice.model?.title ?? "this model"}</b>}
        >
          <Models number={number} choice={choice} onChange={onChange} />
        </Popover>
      )}
      <IconButton label={`Remove column ${number}`} disabled={running} onClick={onRemove}>
        <X size={13} aria-hidden="true" />
      </IconButton>
    </span>
  );
}

/** The open model, and those that were open before. */
function Models({ number, choice, onChange }: Omit<ColumnPickerProps, "onRemove">): ReactNode {
  const title = useRun((s) => current(s.model)?.title ?? "");
  const own = useRun((s) => current(s.model)?.argument ?? null);
  const recents = useRun((s) => current(s.recents));
  const load = useRun((s) => s.loadRecents);
  useEffect(() => void load(), [load]);
  const files = (recents ?? []).filter(({ path, exists }) => exists && path !== own);
  return (
    <div className={styles["models"]} role="radiogroup" aria-label={`Model of column ${number}`}>
      <label>
        <input type="radio" checked={choice.model === null} onChange={() => onChange({ ...choice, model: null })} />
        {title}
      </label>
      {files.map(({ path, name }) => (
        <label key={path} title={path}>
          <input
            type="radio"
            checked={choice.model?.path === path}
            onChange={() => onChange({ ...choice, model: { path, title: name } })}
          />
          {name}
        </label>
      ))}
      <Note>
        {files.length === 0
          ? "Another model can be chosen once it was open: it is remembered."
          : "Models that were open before. One is read when it is asked."}
      </Note>
    </div>
  );
}
