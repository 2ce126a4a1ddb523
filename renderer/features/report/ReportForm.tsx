/** What goes into a report: a tick for each part that is there. Nothing is sent anywhere; the page is saved as a file. */
import type { ReactNode } from "react";
import { useEffect } from "react";
import { current } from "../../session/async.ts";
import { sliceHook } from "../../session/context.tsx";
import { Button } from "../../ui/Button.tsx";
import { Note } from "../../ui/Card.tsx";
import { plural } from "../../ui/format.ts";
import { Progress } from "../../ui/states.tsx";
import { FileOut } from "../../writing/FileOut.tsx";
import type { ReportChoice, Reported, ReportSlice } from "./slice.ts";
import styles from "./Report.module.css";

const useReport = sliceHook<ReportSlice & Reported>();

export function ReportForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const save = useReport((s) => s.saveReport);
  const make = useReport((s) => s.makeReport);
  const copy = useReport((s) => s.copyReport);
  const busy = useReport((s) => s.reportBusy);
  const benches = useReport((s) => s.benchResults.length + s.benchEarlier.length);
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
        <Tick name="benches" disabled={benches === 0}>
          {benches === 0 ? "No benchmarks yet" : plural(benches, "benchmark")}
        </Tick>
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
      <Note>Your words and paths are left out unless they are ticked.</Note>
    </div>
  );
}

function Tick({
  name,
  disabled = false,
  children,
}: {
  readonly name: keyof ReportChoice;
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
