/** The log of this window, oldest first: commands, notices, losses of the engine. */
export interface LogEntry {
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly kind: "command" | "info" | "warning" | "error";
  readonly code: string | null;
  readonly text: string;
}

const KEPT = 400;

/** A command that only repeats the one before it (a slider, a second click) is one line with the later time. */
export function appendLog(
  log: readonly LogEntry[],
  entry: Omit<LogEntry, "id" | "at">,
  at: number,
): readonly LogEntry[] {
  const last = log.at(-1);
  const repeats = last !== undefined && entry.kind === "command" && last.kind === "command" && last.text === entry.text;
  const before = repeats ? log.slice(0, -1) : log;
  return [...before, { ...entry, at, id: (last?.id ?? 0) + 1 }].slice(-KEPT);
}

export function logText(log: readonly LogEntry[]): string {
  return log
    .map(({ at, kind, code, text }) => [new Date(at).toISOString(), kind, code ?? "", text].filter(Boolean).join("\t"))
    .join("\n");
}
