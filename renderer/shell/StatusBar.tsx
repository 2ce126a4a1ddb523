/** The line at the bottom: the engine, the machine, what runs, and the last action as a command. */
import type { ReactNode } from "react";
import { current } from "../session/async.ts";
import { isOwnJob } from "../session/types.ts";
import { cx } from "../ui/cx.ts";
import { bytes, plural, seconds, share } from "../ui/format.ts";
import { useCommands } from "./CommandsContext.ts";
import { useWorkbench } from "./useWorkbench.ts";
import styles from "./Shell.module.css";

export function StatusBar(): ReactNode {
  const commands = useCommands();
  const connection = useWorkbench((state) => state.connection);
  const info = useWorkbench((state) => current(state.info));
  const open = useWorkbench((state) => current(state.model)?.model ?? null);
  const jobs = useWorkbench((state) => state.status?.jobs ?? null);
  const own = jobs?.find((each) => isOwnJob(each, open));
  const job = own ?? jobs?.[0] ?? null;
  const arriving = useWorkbench((state) => state.arriving);
  const logShown = useWorkbench((state) => state.logShown);
  const opened = useWorkbench((state) => current(state.model) !== null);
  const lastCommand = useWorkbench((state) => state.lastCommand);
  const cpu = info === null ? "" : `${info.cpu.kernels}, ${plural(info.cpu.cores, "core")}`;
  const coreml = info?.devices.find(({ capabilities }) => capabilities.plan === true);
  return (
    <footer className={styles["status"]}>
      <button
        type="button"
        className={styles["statusButton"]}
        title="Check this machine"
        onClick={commands["help.doctor"].run}
      >
        {connection === "connected"
          ? "Engine ready"
          : connection === "connecting"
            ? "Connecting to the engine"
            : "Engine lost"}
      </button>
      {info === null ? null : (
        <>
          <span className={styles["chip"]}>{[info.chip, info.osTitle].filter((part) => part !== "").join(" · ")}</span>
          <span className={styles["optional"]}>CPU: {cpu}</span>
          {coreml === undefined ? null : (
            <span
              className={cx(styles["optional"], styles["sentence"])}
              {...(coreml.available ? { title: coreml.sentence } : {})}
            >
              Core ML: {coreml.available ? coreml.sentence : "not on this machine"}
            </span>
          )}
          <span className={styles["optional"]}>{bytes(info.memory.totalBytes)} memory</span>
        </>
      )}
      {arriving === null ? null : <span role="status">Reading the header of {arriving}</span>}
      {job === null ? null : (
        // What goes on comes before what was done: the command gives way.
        <span role="status" className={styles["job"]}>
          {own === undefined ? "In another window, " : ""}
          {job.title}: {job.phase}
          {job.fraction === null ? "" : ` ${share(job.fraction)}`} · {seconds(job.elapsedSeconds)}
        </span>
      )}
      <span className={styles["space"]} />
      {opened ? (
        <button
          type="button"
          className={styles["statusButton"]}
          aria-pressed={logShown}
          onClick={commands["view.log"].run}
        >
          Log
        </button>
      ) : null}
      {lastCommand === null ? null : (
        <button
          type="button"
          className={cx(styles["statusButton"], styles["sentence"])}
          title="Copy as command"
          onClick={commands["edit.copyCommand"].run}
        >
          <span className={styles["lastCommand"]}>{lastCommand}</span>
        </button>
      )}
    </footer>
  );
}
