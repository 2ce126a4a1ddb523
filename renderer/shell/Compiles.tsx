/** What Core ML compiled on this machine: each program with its last result and how long a load takes; what an update changed. */
import type { ReactNode } from "react";
import { useEffect, useRef, useState } from "react";
import type { CompileList, CompileRow, VerifyAgainItem } from "../../main/contract/views/compiles.ts";
import { secondsText } from "../../main/contract/views/compiles.ts";
import type { Async } from "../session/async.ts";
import { failed, IDLE, ready } from "../session/async.ts";
import { Button } from "../ui/Button.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Progress } from "../ui/states.tsx";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

type Verified = Extract<VerifyAgainItem, { readonly kind: "done" }>;

export function Compiles(): ReactNode {
  const ask = useWorkbench((state) => state.askCompiles);
  const allow = useWorkbench((state) => state.allowCompile);
  const [list, setList] = useState<Async<CompileList>>(IDLE);
  const load = (): void =>
    void ask().then(
      (value) => setList(ready(value)),
      (error: unknown) => setList(failed(error)),
    );
  useEffect(load, [ask]);
  if (list.kind === "failed") return <ErrorNote title="The compiles could not be read" error={list.error} />;
  if (list.kind !== "ready") return null;
  const { sentence, changed, rows } = list.value;
  return (
    <section data-state={changed === null ? "info" : "warning"} aria-label="Compiles on this machine">
      <h3>Compiles of Core ML</h3>
      <em>{changed === null ? "" : "the system changed"}</em>
      <p>{sentence}</p>
      {changed === null ? null : <VerifyAgain changed={changed} onDone={load} />}
      {rows.map((row) => (
        <Row
          key={`${row.identity} ${row.content} ${row.function} ${row.units}`}
          row={row}
          onAllow={(verdict) => void allow(verdict).then(load, (error: unknown) => setList(failed(error)))}
        />
      ))}
    </section>
  );
}

function Row({ row, onAllow }: { readonly row: CompileRow; readonly onAllow: (verdict: string) => void }): ReactNode {
  const { title, units, last, estimate, unsafe } = row;
  const result = last.result === "ok" ? "loads" : `${last.result} in ${last.stage ?? "the helper"}`;
  const name = row.function === "" ? title : `${title}, ${row.function}`;
  return (
    <p className={styles["quiet"]}>
      <b>{name}</b> on {units}: {result}, {secondsText(last.seconds)}.{" "}
      {last.failure === null ? "" : `${last.failure.title}. `}
      {estimate.sentence}{" "}
      {unsafe === null ? null : (
        <Button small onClick={() => onAllow(unsafe)}>
          Allow one more load
        </Button>
      )}
    </p>
  );
}

function VerifyAgain({
  changed,
  onDone,
}: {
  readonly changed: NonNullable<CompileList["changed"]>;
  readonly onDone: () => void;
}): ReactNode {
  const verify = useWorkbench((state) => state.verifyCompiles);
  const [doing, setDoing] = useState<string | null>(null);
  const [done, setDone] = useState<Async<Verified>>(IDLE);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const start = async (): Promise<void> => {
    const own = (stop.current = new AbortController());
    setDoing("Verifying");
    try {
      for await (const item of verify(own.signal)) {
        if (item.kind === "phase") setDoing(item.sentence);
        if (item.kind === "done") setDone(ready(item));
      }
    } catch (error) {
      if (!own.signal.aborted) setDone(failed(error));
    } finally {
      setDoing(null);
    }
  };
  return (
    <>
      <p>{changed.sentence}</p>
      {doing === null ? null : <Progress sentence={doing} fraction={null} />}
      {done.kind === "failed" ? <ErrorNote title="The verification did not end" error={done.error} /> : null}
      {done.kind === "ready" ? (
        <>
          <p>{done.value.sentence}</p>
          {done.value.changes.map(({ what, before, after }) => (
            <p key={what} className={styles["quiet"]}>
              {what}: {before} → {after}
            </p>
          ))}
        </>
      ) : null}
      <p>
        {doing !== null ? (
          <Button small onClick={() => stop.current?.abort()}>
            Stop
          </Button>
        ) : done.kind === "ready" ? (
          <Button small onClick={onDone}>
            Show the list
          </Button>
        ) : (
          <Button small onClick={() => void start()}>
            Verify again
          </Button>
        )}
      </p>
    </>
  );
}
