/** A program's text, or two of them side by side, in an editor that is loaded when it is first needed. Read only. */
import type { ReactNode } from "react";
import { useEffect, useRef } from "react";
import { offerFind } from "./findInText.ts";
import type { Setup } from "./host.tsx";
import { fontFamily, Host, openFind, OPTIONS, useSetup } from "./host.tsx";

const READ_ONLY = { readOnly: true, domReadOnly: true, contextmenu: false } as const;

export interface TextViewProps {
  readonly label: string;
  readonly language: "rlx-ir" | "mil" | "plan";
  readonly text: string;
  /** Number of the first line, for a page out of a longer text. */
  readonly firstLine: number;
  /** Line to show and mark, counted from zero in the whole text. */
  readonly markLine?: number | null;
  readonly onLine?: (line: number) => void;
  /** The search of what this is a page of; without it the editor's own, in what is shown. */
  readonly onFind?: () => void;
}

export function TextView({
  label,
  language,
  text,
  firstLine,
  markLine = null,
  onLine,
  onFind,
}: TextViewProps): ReactNode {
  const setup = useSetup();
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<ReturnType<Setup["monaco"]["editor"]["create"]> | null>(null);
  const report = useRef(onLine);
  report.current = onLine;
  const search = useRef(onFind);
  search.current = onFind;
  const start = useRef(firstLine);
  start.current = firstLine;

  useEffect(() => {
    if (setup === null || host.current === null) return undefined;
    const created = setup.monaco.editor.create(host.current, {
      ...OPTIONS,
      ...READ_ONLY,
      fontFamily: fontFamily(),
      language,
      ariaLabel: label,
      lineNumbers: (n) => String(n + start.current),
    });
    editor.current = created;
    const find = (): void => (search.current === undefined ? openFind(created) : search.current());
    const withdraw = offerFind(find);
    created.addCommand(setup.monaco.KeyMod.CtrlCmd | setup.monaco.KeyCode.KeyF, find);
    const listening = created.onMouseDown(({ target }) => {
      if (target.position !== null) report.current?.(start.current + target.position.lineNumber - 1);
    });
    return () => {
      withdraw();
      listening.dispose();
      created.getModel()?.dispose();
      created.dispose();
      editor.current = null;
    };
  }, [setup, language, label]);

  useEffect(() => {
    const model = editor.current?.getModel();
    if (model === undefined || model === null) return;
    if (model.getValue() !== text) model.setValue(text);
    editor.current?.updateOptions({ lineNumbers: (n) => String(n + firstLine) });
  }, [setup, language, text, firstLine]);

  useEffect(() => {
    if (markLine === null || editor.current === null) return;
    const line = markLine - firstLine + 1;
    if (line < 1) return;
    editor.current.revealLineInCenter(line);
    editor.current.setPosition({ lineNumber: line, column: 1 });
  }, [setup, text, markLine, firstLine]);

  return <Host host={host} waiting={setup === null} />;
}

export interface DiffViewProps {
  readonly label: string;
  readonly language: "rlx-ir" | "mil";
  readonly before: string;
  readonly after: string;
  readonly sideBySide: boolean;
  /** Lines of a text with parts left out have no numbers of their own. */
  readonly numbered: boolean;
}

export function DiffView({ label, language, before, after, sideBySide, numbered }: DiffViewProps): ReactNode {
  const setup = useSetup();
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<ReturnType<Setup["monaco"]["editor"]["createDiffEditor"]> | null>(null);

  useEffect(() => {
    if (setup === null || host.current === null) return undefined;
    const created = setup.monaco.editor.createDiffEditor(host.current, {
      ...OPTIONS,
      ...READ_ONLY,
      fontFamily: fontFamily(),
      originalEditable: false,
      renderOverviewRuler: false,
      hideUnchangedRegions: { enabled: true, contextLineCount: 3, minimumLineCount: 5 },
      renderSideBySide: sideBySide,
      useInlineViewWhenSpaceIsLimited: true,
      renderSideBySideInlineBreakpoint: 700,
      ignoreTrimWhitespace: false,
      originalAriaLabel: `${label}: before`,
      modifiedAriaLabel: `${label}: after`,
    });
    editor.current = created;
    // Monaco drops both names with every change of an option, and where it falls back to the inline view.
    const sides = [
      [created.getOriginalEditor(), `${label}: before`],
      [created.getModifiedEditor(), `${label}: after`],
    ] as const;
    const naming = sides.map(([side, ariaLabel]) => {
      const name = (): void => {
        if (side.getRawOptions().ariaLabel !== ariaLabel) side.updateOptions({ ariaLabel });
      };
      name();
      return side.onDidChangeConfiguration(name);
    });
    const withdraw = offerFind(() => openFind(created.getModifiedEditor()));
    return () => {
      withdraw();
      for (const each of naming) each.dispose();
      const model = created.getModel();
      created.dispose();
      model?.original.dispose();
      model?.modified.dispose();
      editor.current = null;
    };
  }, [setup, sideBySide, label]);

  useEffect(() => {
    if (setup === null || editor.current === null) return;
    const old = editor.current.getModel();
    editor.current.setModel({
      original: setup.monaco.editor.createModel(before, language),
      modified: setup.monaco.editor.createModel(after, language),
    });
    old?.original.dispose();
    old?.modified.dispose();
  }, [setup, before, after, language, sideBySide]);

  useEffect(() => {
    editor.current?.updateOptions({ lineNumbers: numbered ? "on" : "off" });
  }, [setup, sideBySide, label, numbered]);

  return <Host host={host} waiting={setup === null} />;
}
