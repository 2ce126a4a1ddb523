/** Says that long work has ended while the window was not in front: by the shell, in a browser where the page may notify. */
import type { Job } from "../../main/contract/views/engine.ts";
import type { ShellBridge } from "../../main/contract/shell.ts";
import { current } from "../session/async.ts";
import { isOwnJob } from "../session/types.ts";
import { duration } from "../ui/format.ts";
import type { WorkbenchStore } from "./store.ts";

/** What takes less is waited for. */
const LONG_SECONDS = 30;

/** Words for what is worth a notification; an answer and an upload are watched. */
const WORDS: { readonly [K in Job["kind"]]?: string } = {
  bench: "The benchmark",
  profile: "The recording",
  export: "The export",
  compile: "The compilation",
  calibrate: "The calibration",
  convert: "The conversion",
  quantize: "The smaller file",
  check: "The check",
  train: "The training",
};

/** What has ended between two lists of jobs and was long. */
export function endedLong(before: readonly Job[], now: readonly Job[]): readonly Job[] {
  const running = new Set(now.map(({ id }) => id));
  return before.filter(
    ({ id, kind, elapsedSeconds }) => !running.has(id) && WORDS[kind] !== undefined && elapsedSeconds >= LONG_SECONDS,
  );
}

export function sentenceOf({ kind, title, elapsedSeconds }: Job): string {
  return `${WORDS[kind] ?? "The work"} has ended after ${duration(elapsedSeconds)}: ${title}`;
}

/** Returns the way to stop. */
export function announceLongWork(store: WorkbenchStore, shell: ShellBridge | null): () => void {
  let jobs: readonly Job[] = [];
  return store.subscribe(({ status, model, preferences }) => {
    const own = (status?.jobs ?? []).filter((job) => isOwnJob(job, current(model)?.model ?? null));
    const ended = endedLong(jobs, own);
    jobs = own;
    if (ended.length === 0 || document.hasFocus() || preferences?.preferences.notifications === false) return;
    for (const job of ended) tell(sentenceOf(job), shell);
  });
}

function tell(sentence: string, shell: ShellBridge | null): void {
  if (shell !== null) shell.notify("RLX Workbench", sentence);
  else if (typeof Notification !== "undefined" && Notification.permission === "granted")
    new Notification("RLX Workbench", { body: sentence });
}
