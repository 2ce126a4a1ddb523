/** LoRA adapters of the open model: each with how much of it is applied. A change opens the model once more. */
import { Plus, X } from "lucide-react";
import type { ReactNode } from "react";
import { useId, useState } from "react";
import type { AdapterSource } from "../../../main/contract/views/model.ts";
import { current } from "../../session/async.ts";
import { typedPath } from "../../session/openSource.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { NumberField } from "../../ui/fields.tsx";
import fields from "../../ui/fields.module.css";
import { useRun } from "./useRun.ts";
import styles from "./Run.module.css";

const MOST = 16;
const nameOf = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

export function Adapters(): ReactNode {
  const adapters = useRun((s) => s.adapters);
  const set = useRun((s) => s.setAdapters);
  const busy = useRun((s) => s.running !== null || s.arriving !== null);
  // Adapters come beside the weights of a file.
  const canAdapt = useRun((s) => current(s.model)?.canRun.ok === true && current(s.model)?.file !== null);
  const id = useId();
  if (!canAdapt) return null;
  const change = (at: number, part: Partial<AdapterSource>): void =>
    void set(adapters.map((each, i) => (i === at ? { ...each, ...part } : each)));
  return (
    <div className={styles["area"]} role="group" aria-labelledby={id}>
      <span id={id}>LoRA adapters</span>
      {adapters.map(({ path, scale }, at) => (
        <div key={`${at} ${path}`} className={styles["adapter"]} title={path}>
          <span className={styles["adapterName"]}>{nameOf(path)}</span>
          <NumberField
            small
            label="Scale"
            value={scale}
            min={-10}
            max={10}
            step={0.1}
            digits={4}
            onChange={(next) => change(at, { scale: next })}
          />
          <IconButton
            label={`Remove ${nameOf(path)}`}
            disabled={busy}
            onClick={() => void set(adapters.filter((_, i) => i !== at))}
          >
            <X size={13} aria-hidden="true" />
          </IconButton>
        </div>
      ))}
      {adapters.length < MOST ? <AddAdapter busy={busy} /> : null}
    </div>
  );
}

function AddAdapter({ busy }: { readonly busy: boolean }): ReactNode {
  const adapters = useRun((s) => s.adapters);
  const set = useRun((s) => s.setAdapters);
  const pick = useRun((s) => s.pickFile);
  const [text, setText] = useState("");
  const path = typedPath(text);
  const add = (chosen: string): void => {
    setText("");
    void set([...adapters, { path: chosen, scale: 1 }]);
  };
  return (
    <div className={styles["adapter"]}>
      <input
        className={fields["path"]}
        aria-label="Adapter to add, a GGUF on the engine's machine"
        placeholder="Path of an adapter, a GGUF"
        value={text}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && path !== "" && !busy) add(path);
        }}
      />
      {pick === null ? null : (
        <Button small disabled={busy} onClick={() => void pick().then((chosen) => chosen !== null && add(chosen))}>
          Choose…
        </Button>
      )}
      <IconButton label="Add the adapter" disabled={busy || path === ""} onClick={() => add(path)}>
        <Plus size={14} aria-hidden="true" />
      </IconButton>
    </div>
  );
}
