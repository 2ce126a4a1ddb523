/** Notices on the screen, the log of the window, and the command line that repeats the last action. */
import { toWireError } from "../../main/diagnostics/errors.ts";
import { current, isCancelled } from "./async.ts";
import { commandText } from "./command.ts";
import { appendLog } from "./log.ts";
import type { NoticesSlice } from "./sessionSlice.ts";
import type { SliceTools } from "./slice.ts";

const MOST_SHOWN = 4;

export const NO_NOTICES = { notices: [], lastCommand: null, log: [] } as const;

export function createNoticesSlice({ set, get, on }: SliceTools<NoticesSlice>): NoticesSlice {
  let count = 0;
  on("modelLeft", ({ opensAgain }) => {
    if (!opensAgain) set({ notices: get().notices.filter(({ stays }) => stays === true) });
  });
  return {
    ...NO_NOTICES,
    notify(notice) {
      count += 1;
      const { level, code, title, text } = notice;
      set({ notices: [...get().notices, { ...notice, id: count }].slice(-MOST_SHOWN) });
      get().addToLog({ kind: level, code, text: `${title}: ${text}` });
    },
    notifyError(title, error, of = {}) {
      if (isCancelled(error)) return;
      const { code, message: text, hint = null, details } = toWireError(error);
      const shownDetails = details === undefined ? null : JSON.stringify(details, null, 2);
      get().notify({ level: "error", title, code, text, hint, details: shownDetails, ...of });
    },
    dismissNotice: (id) => set({ notices: get().notices.filter((notice) => notice.id !== id) }),
    addToLog: (entry) => set({ log: appendLog(get().log, entry, Date.now()) }),
    noteCommand(command, of) {
      const { model, adapters } = get();
      const text =
        of === undefined ? commandText(command, current(model)?.argument ?? null, adapters) : commandText(command, of);
      if (text === null) return;
      set({ lastCommand: text });
      get().addToLog({ kind: "command", code: null, text });
    },
    clearLog: () => set({ log: [] }),
  };
}
