/**
 * Every command of the window, once: the palette, the shortcuts and the menus of the shell are made from this list.
 * `Mod` is Command on a Mac and Control elsewhere. Scope `graph`: single keys, only while the canvas has the focus.
 */
export interface CommandDefinition {
  readonly id: string;
  readonly title: string;
  readonly menu: "File" | "Edit" | "View" | "Navigate" | "Model" | "Help" | null;
  readonly keys: readonly string[];
  readonly scope: "window" | "graph";
  /** False: a browser keeps this key for itself (reload, tabs), so only the shell binds the first one. */
  readonly browser: boolean;
}

const command = <const I extends string>(
  id: I,
  title: string,
  menu: CommandDefinition["menu"],
  keys: readonly string[] = [],
  part: Partial<Pick<CommandDefinition, "scope" | "browser">> = {},
): CommandDefinition & { readonly id: I } => ({ id, title, menu, keys, scope: "window", browser: true, ...part });

/** The tabs of the window, in order; what each shows stands in renderer/tabs, in the file of its name. */
export const TABS = [
  { id: "overview", title: "Overview" },
  { id: "tensors", title: "Tensors" },
  { id: "graph", title: "Graph" },
  { id: "pipeline", title: "Pipeline" },
  { id: "run", title: "Run" },
  { id: "embed", title: "Embed" },
  { id: "bench", title: "Bench" },
  { id: "profile", title: "Profile" },
  { id: "export", title: "Export" },
  { id: "compare", title: "Compare" },
  { id: "train", title: "Train" },
  { id: "server", title: "Server" },
  { id: "text", title: "Text" },
] as const;
export type Tab = (typeof TABS)[number]["id"];

/** The command that shows a tab, by a name that no work has: the first nine have a number key. */
const tabCommands: readonly (CommandDefinition & { readonly id: `view.${Tab}` })[] = TABS.map(({ id, title }, i) =>
  command(`view.${id}`, `Show ${title}`, "View", i < 9 ? [`Mod+${i + 1}`, `Alt+${i + 1}`] : []),
);

const graph = { scope: "graph" } as const;
const shellOnly = { browser: false } as const;

export const COMMANDS = [
  command("file.open", "Open…", "File", ["Mod+O"]),
  command("file.openPath", "Open a path…", "File"),
  command("file.openSample", "Open the sample model", "File"),
  command("file.gallery", "New graph from the gallery…", "File"),
  command("file.close", "Close the model", "File", ["Mod+Shift+W"]),
  command("file.saveReport", "Save report…", "File", ["Mod+Shift+S"]),
  command("file.copyReport", "Copy report as Markdown", "File"),
  command("file.exportSession", "Export the session…", "File"),
  command("file.importSession", "Import a session…", "File"),
  command("file.export", "Export an .mlpackage…", "File", ["Mod+E", "Mod+B"]),
  command("file.quantize", "Write a smaller GGUF…", "File"),
  command("file.convert", "Convert to other GGUF files…", "File"),
  command("file.share", "Share the model file…", "File"),
  command("file.settings", "Settings…", "File", ["Mod+,"]),
  command("edit.find", "Find", "Edit", ["Mod+F"]),
  command("edit.findNext", "Find next", "Edit", ["Mod+G"]),
  command("edit.findPrevious", "Find previous", "Edit", ["Mod+Shift+G"]),
  command("edit.copyCommand", "Copy as command", "Edit", ["Mod+Shift+C"], shellOnly),
  command("view.palette", "Commands", "View", ["Mod+K", "Mod+Shift+O"]),
  ...tabCommands,
  command("navigate.back", "Back", "View", ["Mod+["], shellOnly),
  command("navigate.forward", "Forward", "View", ["Mod+]"], shellOnly),
  command("view.navigator", "Show or hide the navigator", "View", ["Mod+0", "Alt+0"]),
  command("view.inspector", "Show or hide the inspector", "View", ["Mod+Alt+0", "Alt+I"]),
  command("view.log", "Show or hide the log", "View", ["Mod+J", "Mod+Shift+Y"]),
  command("view.theme", "Switch between light, dark and automatic", "View"),
  command("model.run", "Run", "Model", ["Mod+R", "Mod+Enter"], shellOnly),
  command("model.stop", "Stop", "Model", ["Mod+."]),
  command("model.compare", "Compare with…", "Model", ["Mod+Shift+D"]),
  command("model.faster", "Find the faster of two files…", "Model"),
  command("model.bench", "Start the benchmark", "Model", ["Mod+Shift+B"]),
  command("model.profile", "Record a profile", "Model", ["Mod+I"]),
  command("model.train", "Start the training", "Model"),
  command("model.check", "Check the file for damage", "Model"),
  command("model.phase", "Switch between prefill and decode", "Model", ["Mod+Shift+P"], shellOnly),
  command("navigate.previousOfAll", "Previous pass", "Navigate", ["["], graph),
  command("navigate.nextOfAll", "Next pass", "Navigate", ["]"], graph),
  command("navigate.previousPass", "Previous pass that changed something", "Navigate", ["Shift+["], graph),
  command("navigate.nextPass", "Next pass that changed something", "Navigate", ["Shift+]"], graph),
  command("navigate.nextHop", "Next hop between devices", "Navigate", ["N"], graph),
  command("navigate.previousHop", "Previous hop between devices", "Navigate", ["Shift+N"], graph),
  command("navigate.nextChange", "Next change of the pass", "Navigate", ["J"], graph),
  command("navigate.previousChange", "Previous change of the pass", "Navigate", ["K"], graph),
  command("graph.passSide", "Before or after the pass", "Navigate", ["Shift+X"], graph),
  command("graph.onlyChanges", "Only changes of the pass", "Navigate", ["X"], graph),
  command("graph.criticalPath", "Critical path", "Navigate", ["P"], graph),
  command("graph.quickLook", "Look at the selection: inspector on or off", "Navigate", ["Space"], graph),
  command("graph.walkUp", "Go to the producer", "Navigate", ["ArrowUp"], graph),
  command("graph.walkDown", "Go to the consumer", "Navigate", ["ArrowDown"], graph),
  command("graph.walkLeft", "Go left", "Navigate", ["ArrowLeft"], graph),
  command("graph.walkRight", "Go right", "Navigate", ["ArrowRight"], graph),
  command("graph.find", "Search the graph", "Navigate", ["/"], graph),
  command("graph.fit", "Fit everything", "Navigate", ["F"], graph),
  command("graph.fitSelection", "Fit the selection", "Navigate", ["Shift+F"], graph),
  command("graph.zoomIn", "Zoom in", "Navigate", ["+"], graph),
  command("graph.zoomOut", "Zoom out", "Navigate", ["-"], graph),
  command("graph.open", "Open the selected group", "Navigate", ["Enter"], graph),
  command("graph.up", "Up one level", "Navigate", ["Escape"], graph),
  command("graph.expandAll", "Show every op", "Navigate", ["Shift+E"], graph),
  command("graph.foldAll", "Fold everything", "Navigate", ["Shift+Q"], graph),
  command("graph.byDevice", "Colour by device", "Navigate", ["D"], graph),
  command("graph.bySegment", "Colour by segment", "Navigate", ["S"], graph),
  command("graph.byTime", "Colour by time", "Navigate", ["T"], graph),
  command("graph.byBytes", "Colour by bytes", "Navigate", ["B"], graph),
  command("graph.byFlops", "Colour by arithmetic", "Navigate", ["O"], graph),
  command("graph.byType", "Colour by type of weights", "Navigate", ["Y"], graph),
  command("graph.byMeasured", "Colour by measured time", "Navigate", ["M"], graph),
  command("graph.byError", "Colour by error of weights", "Navigate", ["E"], graph),
  command("graph.byPlanned", "Colour by the system’s plan", "Navigate", ["Shift+P"], graph),
  command("graph.byMlx", "Colour by MLX support", "Navigate", ["L"], graph),
  command("graph.isolateAne", "Only the Neural Engine", "Navigate", ["A"], graph),
  command("graph.isolateGpu", "Only the GPU", "Navigate", ["G"], graph),
  command("graph.isolateCpu", "Only the CPU", "Navigate", ["C"], graph),
  command("graph.isolateHost", "Only host code", "Navigate", ["H"], graph),
  command("graph.savePng", "Save the graph that is shown as PNG", null),
  command("graph.saveSvg", "Save the graph that is shown as SVG", null),
  command("graph.saveWholePng", "Save the whole graph as PNG", null),
  command("graph.saveWholeSvg", "Save the whole graph as SVG", null),
  command("graph.saveNodeData", "Save the numbers of the graph as node data", null),
  command("help.doctor", "Check this machine", "Help"),
  command("help.operations", "Operations of graphs", "Help"),
  command("help.about", "About RLX Workbench, licences", "Help"),
  command("help.shortcuts", "Keyboard shortcuts", "Help", ["Mod+/"]),
] as const;

export type CommandId = (typeof COMMANDS)[number]["id"];

/** A key as a person reads it: symbols on a Mac, words elsewhere. */
export function keyText(keys: string, mac: boolean): string {
  const parts = keys.split(/(?<=.)\+/);
  const symbols: { readonly [part: string]: string } = {
    ...{ ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" },
    ...(mac ? { Mod: "⌘", Shift: "⇧", Alt: "⌥", Enter: "↩", Escape: "esc" } : { Mod: "Ctrl", Escape: "Esc" }),
  };
  return parts.map((part) => symbols[part] ?? part).join(mac ? "" : "+");
}

/** The same for Electron's menus. */
export function accelerator(keys: string): string {
  return keys
    .split(/(?<=.)\+/)
    .map((part) =>
      part === "Mod"
        ? "CommandOrControl"
        : part === "Escape"
          ? "Esc"
          : part === "+"
            ? "Plus"
            : part.replace(/^Arrow/, ""),
    )
    .join("+");
}
