/**
 * A text that is written: marks at what is wrong, what the pointer is on, the way to a definition, other names, one layout.
 * What it knows of the language comes from outside. While someone types, nothing but the editor works: the text is given when
 * there was quiet.
 */
import type { editor as Editors, IDisposable, languages, Position } from "monaco-editor/editor";
import type { ReactNode } from "react";
import { useEffect, useRef } from "react";
import { offerFind } from "./findInText.ts";
import type { Setup } from "./host.tsx";
import { fontFamily, Host, openFind, OPTIONS, useSetup } from "./host.tsx";

interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Mark extends Span {
  readonly message: string;
  readonly fix: (Span & { readonly title: string; readonly text: string }) | null;
}

/** What is known of the text, by offsets in it. */
export interface TextKnowledge {
  /** Paragraphs about the word there; null where there is nothing to say. */
  readonly hover: (text: string, offset: number) => Promise<readonly string[] | null>;
  readonly definition: (text: string, offset: number) => Span | null;
  readonly references: (text: string, offset: number) => readonly Span[];
  /** The name that can be changed there, and where it stands everywhere. */
  readonly nameAt: (text: string, offset: number) => (Span & { readonly name: string }) | null;
  /** Where to write the new name, or why not. */
  readonly rename: (text: string, offset: number, name: string) => readonly Span[] | string;
  readonly format: (text: string) => Promise<string | null>;
}

export interface TextEditorProps {
  readonly label: string;
  readonly text: string;
  readonly marks: readonly Mark[];
  readonly knowledge: TextKnowledge;
  /** Quiet, in milliseconds, before a text of so many letters is given. */
  readonly quiet: (letters: number) => number;
  readonly onText: (text: string) => void;
  /** Gives what was typed and not yet given; called with null when the editor goes. */
  readonly onFlush: (flush: (() => void) | null) => void;
  /** A place to go to. */
  readonly goTo: { readonly offset: number; readonly at: number } | null;
}

const LANGUAGE = "rlx-ir";

type Editor = ReturnType<Setup["monaco"]["editor"]["create"]>;

export function TextEditor(props: TextEditorProps): ReactNode {
  const { label, text, marks, goTo } = props;
  const setup = useSetup();
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const latest = useRef(props);
  latest.current = props;
  /** As it was given or taken last. */
  const known = useRef(text);

  useEffect(() => {
    if (setup === null || host.current === null) return undefined;
    const { monaco } = setup;
    const model = monaco.editor.createModel(latest.current.text, LANGUAGE);
    known.current = latest.current.text;
    const created = monaco.editor.create(host.current, {
      ...OPTIONS,
      model,
      fontFamily: fontFamily(),
      ariaLabel: label,
      // The Tab key goes on to what comes next, as everywhere in the window.
      tabFocusMode: true,
      wordBasedSuggestions: "off",
      quickSuggestions: false,
      contextmenu: true,
      tabSize: 2,
    });
    editor.current = created;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const give = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      const value = model.getValue(monaco.editor.EndOfLinePreference.LF);
      if (value === known.current) return;
      known.current = value;
      latest.current.onText(value);
    };
    const listening = created.onDidChangeModelContent(() => {
      clearTimeout(timer);
      timer = setTimeout(give, latest.current.quiet(model.getValueLength()));
    });
    latest.current.onFlush(give);
    const parts = [listening, ...knowing(setup, model, () => latest.current)];
    const withdraw = offerFind(() => openFind(created));
    return () => {
      give();
      latest.current.onFlush(null);
      withdraw();
      for (const part of parts) part.dispose();
      created.dispose();
      model.dispose();
      editor.current = null;
    };
  }, [setup, label]);

  // A text from outside takes the place of what is here, and can be undone.
  useEffect(() => {
    const model = editor.current?.getModel();
    if (!model || text === known.current) return;
    known.current = text;
    model.pushEditOperations([], [{ range: model.getFullModelRange(), text }], () => null);
  }, [setup, text]);

  useEffect(() => {
    const model = editor.current?.getModel();
    if (setup === null || !model) return;
    setup.monaco.editor.setModelMarkers(
      model,
      "text",
      marks.map(({ message, start, end }) => ({
        ...rangeOf(model, { start, end: Math.max(end, start + 1) }),
        message,
        severity: setup.monaco.MarkerSeverity.Error,
      })),
    );
  }, [setup, marks]);

  useEffect(() => {
    const [shown, model] = [editor.current, editor.current?.getModel()];
    if (goTo === null || !shown || !model) return;
    const position = model.getPositionAt(goTo.offset);
    shown.revealPositionInCenterIfOutsideViewport(position);
    shown.setPosition(position);
    shown.focus();
  }, [setup, goTo]);

  return <Host host={host} waiting={setup === null} />;
}

function rangeOf(
  model: Editors.ITextModel,
  { start, end }: Span,
): { startLineNumber: number; startColumn: number; endLineNumber: number; endColumn: number } {
  const [from, to] = [model.getPositionAt(start), model.getPositionAt(end)];
  return {
    ...{ startLineNumber: from.lineNumber, startColumn: from.column },
    ...{ endLineNumber: to.lineNumber, endColumn: to.column },
  };
}

/** What the editor asks about this text and no other. */
function knowing(
  { monaco }: Setup,
  mine: Editors.ITextModel,
  now: () => Pick<TextEditorProps, "knowledge" | "marks">,
): readonly IDisposable[] {
  const read = (model: Editors.ITextModel, position: Position): { text: string; offset: number } | null =>
    model === mine
      ? { text: model.getValue(monaco.editor.EndOfLinePreference.LF), offset: model.getOffsetAt(position) }
      : null;
  const place = (span: Span): languages.Location => ({ uri: mine.uri, range: rangeOf(mine, span) });
  const language = monaco.languages;
  return [
    language.registerHoverProvider(LANGUAGE, {
      async provideHover(model, position) {
        const at = read(model, position);
        const said = at === null ? null : await now().knowledge.hover(at.text, at.offset);
        return said === null ? null : { contents: said.map((value) => ({ value })) };
      },
    }),
    language.registerDefinitionProvider(LANGUAGE, {
      provideDefinition(model, position) {
        const at = read(model, position);
        const span = at === null ? null : now().knowledge.definition(at.text, at.offset);
        return span === null ? null : place(span);
      },
    }),
    language.registerReferenceProvider(LANGUAGE, {
      provideReferences(model, position) {
        const at = read(model, position);
        return at === null ? null : now().knowledge.references(at.text, at.offset).map(place);
      },
    }),
    language.registerRenameProvider(LANGUAGE, {
      resolveRenameLocation(model, position) {
        const at = read(model, position);
        const found = at === null ? null : now().knowledge.nameAt(at.text, at.offset);
        if (found !== null) return { range: rangeOf(mine, found), text: found.name };
        // The editor shows the reason in place of the name.
        const here = { ...place({ start: at?.offset ?? 0, end: at?.offset ?? 0 }), text: "" };
        return { ...here, rejectReason: "There is no value here." };
      },
      provideRenameEdits(model, position, name) {
        const at = read(model, position);
        if (at === null) return null;
        const spans = now().knowledge.rename(at.text, at.offset, name);
        if (typeof spans === "string") return { edits: [], rejectReason: spans };
        const edits = spans.map((span) => ({
          ...{ resource: mine.uri, versionId: undefined },
          textEdit: { range: rangeOf(mine, span), text: name },
        }));
        return { edits };
      },
    }),
    language.registerDocumentFormattingEditProvider(LANGUAGE, {
      async provideDocumentFormattingEdits(model) {
        if (model !== mine) return null;
        const text = await now().knowledge.format(model.getValue(monaco.editor.EndOfLinePreference.LF));
        return text === null ? null : [{ range: model.getFullModelRange(), text }];
      },
    }),
    language.registerCodeActionProvider(LANGUAGE, {
      provideCodeActions(model, range) {
        if (model !== mine) return null;
        const actions = now().marks.flatMap(({ start, end, fix }): languages.CodeAction[] => {
          if (fix === null || !monaco.Range.areIntersectingOrTouching(rangeOf(mine, { start, end }), range)) return [];
          const textEdit = { range: rangeOf(mine, fix), text: fix.text };
          const edit = { edits: [{ resource: mine.uri, versionId: undefined, textEdit }] };
          return [{ title: fix.title, kind: "quickfix", isPreferred: true, edit }];
        });
        return { actions, dispose: () => undefined };
      },
    }),
  ];
}
