/** Monaco, loaded only when a text is shown: its worker, our languages, and themes made from our tokens. */
import * as monaco from "monaco-editor/editor";
import "monaco-editor/features/register.all";
// oxlint-disable-next-line import/default -- the bundler makes a worker of it, exported as default
import EditorWorker from "monaco-editor/editor/editor.worker?worker";
import { configuration, irLanguage, milLanguage } from "./languages.ts";

// Without this the bundler would inline the worker as a data: URL, which our content policy refuses.
(globalThis as { MonacoEnvironment?: monaco.Environment }).MonacoEnvironment = { getWorker: () => new EditorWorker() };

for (const [id, rules] of [
  ["rlx-ir", irLanguage],
  ["mil", milLanguage],
] as const) {
  monaco.languages.register({ id });
  monaco.languages.setMonarchTokensProvider(id, rules);
  monaco.languages.setLanguageConfiguration(id, configuration);
}

/** Ink, not colours: the four colours belong to devices. Weight and greys tell the parts apart. */
export function defineTheme(): void {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  // The build shortens "#ffffff" to "#fff", which the editor does not take.
  const plain = (name: string): string =>
    of(name)
      .replace(/^#(.)(.)(.)$/, "$1$1$2$2$3$3")
      .replace("#", "");
  const isDark = document.documentElement.dataset["theme"] !== "light";
  monaco.editor.defineTheme("workbench", {
    base: isDark ? "vs-dark" : "vs",
    inherit: false,
    rules: [
      { token: "", foreground: plain("--ink"), background: plain("--canvas") },
      { token: "keyword", foreground: plain("--ink"), fontStyle: "bold" },
      { token: "function", foreground: plain("--ink"), fontStyle: "bold" },
      { token: "variable", foreground: plain("--ink-2") },
      { token: "type", foreground: isDark ? "c9b27c" : "7a5a10" },
      { token: "number", foreground: isDark ? "c3c8d2" : "3f4550" },
      { token: "string", foreground: isDark ? "c9b27c" : "7a5a10" },
      { token: "comment", foreground: isDark ? "a8b0bc" : "545b67", fontStyle: "italic" },
      { token: "annotation", foreground: plain("--ink-2") },
      { token: "delimiter", foreground: plain("--ink-2") },
    ],
    colors: {
      "editor.background": of("--canvas"),
      "editor.foreground": of("--ink"),
      "editorLineNumber.foreground": isDark ? "#8a919f" : "#6d7581",
      "editorLineNumber.activeForeground": of("--ink"),
      "editor.lineHighlightBackground": of("--panel"),
      "editor.selectionBackground": isDark ? "#f0c34e38" : "#f0c34e60",
      "editorGutter.background": of("--canvas"),
      ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`editorBracketHighlight.foreground${n}`, of("--ink-2")])),
      "editorWidget.background": of("--panel"),
      "editorWidget.border": of("--line-strong"),
      "input.background": of("--canvas"),
      focusBorder: of("--select"),
      // Added blue, removed orange; never red and green.
      "diffEditor.insertedLineBackground": isDark ? "#6ea8ff16" : "#2f6fd012",
      "diffEditor.insertedTextBackground": isDark ? "#6ea8ff38" : "#2f6fd030",
      "diffEditor.removedLineBackground": isDark ? "#e08a3c14" : "#e08a3c16",
      "diffEditor.removedTextBackground": isDark ? "#e08a3c3c" : "#e08a3c3e",
      "diffEditor.diagonalFill": of("--line"),
      "scrollbarSlider.background": isDark ? "#3a404c99" : "#c5c9d199",
    },
  });
  monaco.editor.setTheme("workbench");
}

export { monaco };
