/** The window's own state: open panels and dialogs, and the theme. */
import type { SliceTools } from "../session/slice.ts";
import type { ThemeChoice } from "../ui/theme.ts";
import { applyTheme, nextTheme, storedTheme } from "../ui/theme.ts";

export type DialogName =
  | "palette"
  | "shortcuts"
  | "path"
  | "pair"
  | "doctor"
  | "operations"
  | "gallery"
  | "about"
  | "session"
  | "report"
  | "settings";

/** What the export tab writes. */
export type WriteKind = "package" | "quantize" | "convert";

/** While no model is open: the first screen, or what works without one. */
export type StartPageName = "first" | "server" | "train";

export interface WindowSlice {
  readonly dialog: DialogName | null;
  readonly navigatorShown: boolean;
  readonly inspectorShown: boolean;
  readonly logShown: boolean;
  readonly theme: ThemeChoice;
  readonly writeKind: WriteKind;
  readonly startPage: StartPageName;
  readonly showStartPage: (page: StartPageName) => void;
  /** The search of a view that has none of its own. */
  readonly findShown: boolean;
  readonly findWords: string;
  /** Which of the places; it goes round at both ends. */
  readonly findAt: number;
  readonly showFind: (shown: boolean) => void;
  readonly setFindWords: (words: string) => void;
  readonly stepFind: (step: 1 | -1) => void;
  readonly showDialog: (dialog: DialogName | null) => void;
  readonly toggleNavigator: () => void;
  readonly toggleInspector: () => void;
  readonly toggleLog: () => void;
  /** A window of less than LEAST_WIDTH begins without panes; wider again, they are as they were. */
  readonly setNarrow: (isNarrow: boolean) => void;
  readonly cycleTheme: () => void;
  readonly setWriteKind: (kind: WriteKind) => void;
}

export function createWindowSlice({ set, get, on }: SliceTools<WindowSlice>): WindowSlice {
  on("preferencesChanged", ({ appearance }) => {
    if (appearance === null || appearance === get().theme) return;
    applyTheme(appearance);
    set({ theme: appearance });
  });
  // Closed, it leaves the first screen.
  on("modelShown", () => set({ startPage: "first" }));
  let wide: Pick<WindowSlice, "navigatorShown" | "inspectorShown"> | null = null;
  return {
    dialog: null,
    navigatorShown: true,
    inspectorShown: true,
    logShown: false,
    theme: typeof localStorage === "undefined" ? "auto" : storedTheme(),
    writeKind: "package",
    findShown: false,
    findWords: "",
    findAt: 0,
    showFind: (findShown) => set({ findShown }),
    setFindWords: (findWords) => set({ findWords, findAt: 0 }),
    stepFind: (step) => set({ findAt: get().findAt + step }),
    startPage: "first",
    showStartPage: (startPage) => set({ startPage }),
    showDialog: (dialog) => set({ dialog }),
    toggleNavigator: () => set({ navigatorShown: !get().navigatorShown }),
    toggleInspector: () => set({ inspectorShown: !get().inspectorShown }),
    toggleLog: () => set({ logShown: !get().logShown }),
    setNarrow(isNarrow) {
      if (isNarrow === (wide !== null)) return;
      const { navigatorShown, inspectorShown } = get();
      if (isNarrow) {
        wide = { navigatorShown, inspectorShown };
        set({ navigatorShown: false, inspectorShown: false });
      } else if (wide !== null) {
        set(wide);
        wide = null;
      }
    },
    cycleTheme() {
      const theme = nextTheme(get().theme);
      applyTheme(theme);
      set({ theme });
    },
    setWriteKind: (writeKind) => set({ writeKind }),
  };
}
