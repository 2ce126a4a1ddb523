/** What goes into a report: a tick for each part that is there. Nothing is sent anywhere; the page is saved as a file. */
import type { ReactNode } from "react";
import { useEffect, useMemo } from "react";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Note } from "../../ui/Card.tsx";
import { plural } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { FileOut } from "../../writing/FileOut.tsx";
import type { ListedPart, Reported, ReportSlice, TickedPart } from "./slice.ts";
import { listed, toggledName } from "./slice.ts";
import styles from "./Report.module.css";

const useReport = sliceHook<ReportSlice & Reported>();

export function ReportForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const save = useReport((s) => s.saveReport);
  const make = useReport((s) => s.makeReport);
  const copy = useReport((s) => s.copyReport);
  const busy = useReport((s) => s.reportBusy);
  const loadHistory = useReport((s) => s.loadBenchHistory);
  useEffect(() => void loadHistory(), [loadHistory]);
  const turns = useReport((s) => s.turns.length);
  const hasNotes = useReport((s) => s.notes.trim() !== "");
  const hasProfile = useReport((s) => s.profiled !== null);
  const title = useReport((s) => current(s.model)?.title ?? "");
  return (
    <div className={styles["form"]}>
      <p>
        One page of HTML about {title}: verdict, route, advice and identity. It needs no network, and nothing is sent
        anywhere.
      </p>
      <fieldset>
        <legend className="visually-hidden">Also in it</legend>
        <Results part="benches" none="No benchmarks yet" title="Benchmarks" />
        <Results part="answers" none="No answer was measured yet" title="How fast answers were, without their words" />
        <Tick name="profile" disabled={!hasProfile}>
          {hasProfile ? "The recorded profile" : "No profile was recorded"}
        </Tick>
        <Tick name="conversation" disabled={turns === 0}>
          {turns === 0 ? "No conversation" : `The conversation, ${plural(turns, "turn")}`}
        </Tick>
        <Tick name="notes" disabled={!hasNotes}>
          {hasNotes ? "Your notes" : "No notes"}
        </Tick>
        <Tick name="paths">Whole paths instead of names of files</Tick>
      </fieldset>
      <Note>Your words and paths are left out unless they are ticked.</Note>
      {busy ? <Progress sentence="Making the report" fraction={null} /> : null}
      <div className={styles["actions"]}>
        <Button
          look="primary"
          disabled={busy}
          onClick={() => void save().then((saved) => (saved ? onClose() : undefined))}
        >
          Save
        </Button>
        <FileOut
          file={{
            name: "the report",
            make: async () => {
              const page = await make();
              return page === null ? null : { name: page.name, blob: new Blob([page.html], { type: "text/html" }) };
            },
          }}
        />
        <Button disabled={busy} onClick={() => void copy()}>
          Copy its head as Markdown
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </div>
  );
}

/** Single results, newest first: each has a tick of its own. */
function Results({
  part,
  title,
  none,
}: {
  readonly part: ListedPart;
  readonly title: string;
  readonly none: string;
}): ReactNode {
  const choice = useReport((s) => s.reportChoice);
  const benchResults = useReport((s) => s.benchResults);
  const benchEarlier = useReport((s) => s.benchEarlier);
  const runHistory = useReport((s) => s.runHistory);
  const set = useReport((s) => s.setReport);
  const list = useMemo(
    () => listed(part, { benchResults, benchEarlier, runHistory }, choice),
    [part, benchResults, benchEarlier, runHistory, choice],
  );
  if (list.length === 0) return <p className={styles["none"]}>{none}</p>;
  return (
    <fieldset className={styles["results"]}>
      <legend>{title}</legend>
      {list.map(({ name, says, chosen }) => (
        <label key={name}>
          <input type="checkbox" checked={chosen} onChange={() => set({ [part]: toggledName(list, name) })} />
          <span>{name}</span>
          <em>{says}</em>
        </label>
      ))}
    </fieldset>
  );
}

function Tick({
  name,
  disabled = false,
  children,
}: {
  readonly name: TickedPart;
  readonly disabled?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const checked = useReport((s) => s.reportChoice[name]);
  const set = useReport((s) => s.setReport);
  return (
    <label data-disabled={disabled}>
      <input
        type="checkbox"
        disabled={disabled}
        checked={checked && !disabled}
        onChange={(event) => set({ [name]: event.target.checked })}
      />
      {children}
    </label>
  );
}
