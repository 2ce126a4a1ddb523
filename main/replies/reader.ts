/**
 * Takes an answer apart while it is written. Text is held only while it may be the beginning of a mark; everything else
 * is given out at once with the part that it belongs to, marks included, so that the pieces together are the text.
 */
import type { CallBody } from "./callBodies.ts";
import { LONGEST_CALL, parsedJson } from "./callBodies.ts";
import type { CallMarks, Marks, ReplyStyle } from "./families.ts";
import { CHANNEL_ENDS, CHANNEL_OPENS, EVERYONE, HEADER_ENDS, marksOf, RECIPIENT_OPEN } from "./families.ts";
import { OpenText } from "./openText.ts";
import type { CallArguments, ParameterTypes, Reply, ReplyPart, ReplyPiece, ToolCall, WrittenCall } from "./reply.ts";
import { isRecord } from "./reply.ts";

export interface ReaderOptions {
  /** What the model read: an answer may go on with reasoning that the prompt has opened. */
  readonly prompt: string;
  readonly hasTools: boolean;
  readonly types: ParameterTypes;
  /** Names of the tools: where a line says whom a part is for, others are words. */
  readonly toolNames?: readonly string[];
  /** Numbers the calls of a conversation: those that stand in it already. */
  readonly earlierCalls: number;
}

type Section =
  | { readonly kind: "answer" }
  | { readonly kind: "reasoning"; readonly close: readonly string[] }
  | {
      readonly kind: "call";
      readonly close: readonly string[];
      readonly body: CallBody;
      readonly open: string;
      readonly isPart: boolean;
      readonly needsTools: boolean;
    }
  /** Says what the text behind it is. */
  | { readonly kind: "header" };

const ANSWER: Section = { kind: "answer" };

/** Anything longer is no name and no id. */
const LONGEST_NAME = 1000;
const LONGEST_ID = 200;

interface Found {
  readonly at: number;
  readonly mark: string;
}

export class ReplyReader {
  readonly #style: ReplyStyle;
  readonly #options: ReaderOptions;
  #section: Section;
  /** Not given out yet. */
  #held = "";
  /** Of the section that is open. */
  readonly #text = new OpenText();
  /** Blanks between two parts belong to the marks. */
  #skipsBlanks = false;
  readonly #reasoning: string[] = [];
  readonly #content: string[] = [];
  readonly #calls: ToolCall[] = [];
  readonly #notes: string[] = [];
  readonly #controls: readonly string[];
  /** Lines that begin a part. */
  readonly #recipients: readonly string[];
  #hasAnswer = false;
  #isPlain = true;

  constructor(style: ReplyStyle, options: ReaderOptions) {
    this.#style = style;
    this.#options = options;
    this.#controls = marksOf(style);
    this.#recipients = [EVERYONE, ...(options.toolNames ?? [])].map((name) => `${RECIPIENT_OPEN}${name}\n`);
    this.#section = beginning(style, options.prompt);
    this.#skipsBlanks = this.#section.kind === "reasoning";
  }

  /** Those that are complete. */
  get calls(): readonly ToolCall[] {
    return this.#calls;
  }

  /** Whether the text of a token that is otherwise never shown says something here: marks, and all of a call. */
  reads(control: string): boolean {
    const { kind } = this.#section;
    return kind === "call" || kind === "header" || this.#controls.some((mark) => mark.includes(control));
  }

  push(text: string): readonly ReplyPiece[] {
    this.#held += text;
    return this.#read(false);
  }

  /** What is still held, and what the whole answer says. */
  finish(): { readonly pieces: readonly ReplyPiece[]; readonly reply: Reply } {
    const pieces = this.#read(true);
    this.#close("", true);
    const { parts, isPlain } = { parts: this.#content, isPlain: this.#isPlain };
    const reply: Reply = {
      reasoning: this.#reasoning.join("\n\n"),
      content: isPlain
        ? parts.join("")
        : parts
            .map((part) => part.trim())
            .filter((part) => part !== "")
            .join("\n\n"),
      calls: this.#calls,
      notes: this.#notes,
    };
    return { pieces, reply };
  }

  #read(isEnd: boolean): readonly ReplyPiece[] {
    const pieces: ReplyPiece[] = [];
    for (;;) {
      if (this.#skipsBlanks) this.#give(pieces, "mark", this.#held.length - this.#held.trimStart().length);
      if (this.#held === "") return pieces;
      this.#skipsBlanks = false;
      const marks = this.#marks();
      const found = firstOf(this.#held, marks);
      if (found === undefined) {
        const length = isEnd ? this.#held.length : this.#held.length - openEnd(this.#held, marks);
        this.#add(pieces, length);
        return pieces;
      }
      // What may be the beginning of a longer mark waits.
      if (
        !isEnd &&
        marks.some((mark) => mark.length > found.mark.length && mark.startsWith(this.#held.slice(found.at)))
      ) {
        this.#add(pieces, found.at);
        return pieces;
      }
      // What stands before the mark may say that it is none.
      if (found.at > 0) this.#add(pieces, found.at);
      else this.#pass(pieces, found.mark);
    }
  }

  /** Text of the open section. */
  #add(pieces: ReplyPiece[], length: number): void {
    const text = this.#held.slice(0, length);
    if (text === "") return;
    const { kind } = this.#section;
    if (kind === "answer" && text.trim() !== "") this.#hasAnswer = true;
    this.#text.add(text);
    this.#give(pieces, kind === "header" ? "mark" : kind, length);
  }

  #give(pieces: ReplyPiece[], part: ReplyPart, length: number): void {
    if (length === 0) return;
    pieces.push({ part, text: this.#held.slice(0, length) });
    this.#held = this.#held.slice(length);
  }

  #marks(): readonly string[] {
    const section = this.#section;
    if (this.#style.kind === "recipients") return section.kind === "header" ? ["\n"] : this.#recipients;
    if (section.kind === "header") return HEADER_ENDS;
    if (this.#style.kind === "channels") return CHANNEL_ENDS;
    if (section.kind === "reasoning")
      return this.#style.beginsThinking
        ? [...section.close, ...this.#callMarks().map(({ open }) => open)]
        : section.close;
    if (section.kind === "call")
      return section.close.length > 0 || section.isPart ? section.close : this.#callMarks().map(({ open }) => open);
    const closings = this.#hasReasoned
      ? []
      : this.#style.reasoning.filter(({ mayLackOpen }) => mayLackOpen === true).flatMap(({ close }) => close);
    return [...this.#openings().map(({ open }) => open), ...this.#style.silent, ...closings];
  }

  get #hasReasoned(): boolean {
    return this.#reasoning.length > 0;
  }

  #callMarks(): readonly CallMarks[] {
    return (this.#style.calls?.marks ?? []).filter(({ needsTools }) => needsTools !== true || this.#options.hasTools);
  }

  #openings(): readonly (Marks | CallMarks)[] {
    return [...this.#style.reasoning, ...this.#callMarks()].filter(
      ({ isFirst }) => isFirst !== true || !this.#hasAnswer,
    );
  }

  /** A mark stands at the beginning of what is held. */
  #pass(pieces: ReplyPiece[], mark: string): void {
    const section = this.#section;
    if (section.kind === "answer" && this.#style.silent.includes(mark)) {
      this.#isPlain = false;
      this.#give(pieces, "mark", mark.length);
      this.#skipsBlanks = !this.#hasAnswer;
      return;
    }
    if (section.kind === "call" && !this.#isChannel && this.#text.isInsideQuotes()) {
      // A mark within quotation marks is an argument.
      this.#text.add(mark);
      this.#give(pieces, "call", mark.length);
      return;
    }
    if (this.#style.kind === "recipients") {
      this.#passRecipient(pieces, mark);
      return;
    }
    if (section.kind === "header") {
      this.#section = channelOf(this.#text.value);
      this.#text.begin("");
      this.#give(pieces, "mark", mark.length);
      return;
    }
    this.#isPlain = false;
    if (this.#isChannel) {
      this.#close(mark, false);
      const opens = CHANNEL_OPENS.includes(mark);
      this.#section = opens ? { kind: "header" } : ANSWER;
      if (opens) this.#text.begin(mark);
      this.#give(pieces, "mark", mark.length);
      return;
    }
    const isEnd = section.kind === "reasoning" && section.close.includes(mark);
    const opening = isEnd ? undefined : this.#openings().find(({ open }) => open === mark);
    if (section.kind === "answer" && opening === undefined) this.#allBeforeWasReasoning();
    else this.#close(mark, false);
    this.#section = opening === undefined ? ANSWER : sectionOf(opening);
    if (opening !== undefined && "isPart" in opening && opening.isPart === true) {
      this.#text.begin(mark);
      this.#give(pieces, "call", mark.length);
      return;
    }
    this.#give(pieces, "mark", mark.length);
    this.#skipsBlanks = true;
  }

  #passRecipient(pieces: ReplyPiece[], mark: string): void {
    const isHeader = this.#section.kind === "header";
    const name = isHeader ? this.#text.value : mark.slice(RECIPIENT_OPEN.length, -1);
    if (isHeader) this.#text.begin("");
    else this.#close(mark, false);
    this.#isPlain = false;
    this.#section = recipientOf(name.trim());
    this.#give(pieces, "mark", mark.length);
  }

  get #isChannel(): boolean {
    return this.#style.kind === "channels";
  }

  /** Its end stands there without its beginning. */
  #allBeforeWasReasoning(): void {
    const before = [...this.#content, this.#text.value].join("").trim();
    this.#content.length = 0;
    if (before !== "") this.#reasoning.push(before);
    this.#text.begin("");
    this.#hasAnswer = false;
  }

  /** The open section is over. */
  #close(mark: string, isEnd: boolean): void {
    const section = this.#section;
    const text = this.#text.value;
    this.#text.begin("");
    if (section.kind === "answer" || section.kind === "header") {
      if (text !== "") this.#content.push(text);
    } else if (section.kind === "reasoning") {
      const isAll = isEnd && this.#style.beginsThinking && this.#content.length === 0;
      if (isAll) this.#content.push(text);
      else if (text.trim() !== "") this.#reasoning.push(text.trim());
    } else this.#readCall(section, text, mark);
  }

  #readCall(section: Extract<Section, { readonly kind: "call" }>, text: string, mark: string): void {
    const isTooLong = text.length > LONGEST_CALL;
    const found = isTooLong ? undefined : section.body(text, this.#options.types);
    if (found?.every(({ name }) => name !== "" && name.length <= LONGEST_NAME) === true) {
      for (const call of found) this.#calls.push(this.#numbered(call));
      return;
    }
    const shown = section.isPart ? "" : section.open;
    this.#content.push(`${shown}${text}${section.close.includes(mark) ? mark : ""}`);
    // A bare text that is no call is an answer like any other.
    if (!section.needsTools)
      this.#notes.push(
        isTooLong
          ? `A tool call of ${text.length} characters is too long; it stays text.`
          : "A tool call could not be read; it stays text.",
      );
  }

  /** Nine letters and digits: Mistral's template asks for that. */
  #numbered({ id, name, arguments: given }: WrittenCall): ToolCall {
    const number = this.#options.earlierCalls + this.#calls.length + 1;
    const isGiven = id !== undefined && id !== "" && id.length <= LONGEST_ID;
    return { id: isGiven ? id : `call${String(number).padStart(5, "0")}`, name, arguments: given };
  }
}

/** What the end of a prompt has begun: a header, or reasoning that one of the closings ends. */
export function beginningOf(
  style: ReplyStyle,
  prompt: string,
): { readonly isBegun: boolean; readonly closings?: readonly string[] } {
  const end = prompt.trimEnd();
  if (style.kind === "channels") return { isBegun: end.endsWith("<|start|>assistant") };
  if (style.kind === "recipients") return { isBegun: end.endsWith(RECIPIENT_OPEN) };
  const opened = style.reasoning.find(({ open }) => end.endsWith(open));
  if (opened !== undefined) return { isBegun: true, closings: opened.close };
  if (style.beginsThinking) return { isBegun: true, closings: style.reasoning.flatMap(({ close }) => close) };
  return { isBegun: false };
}

function beginning(style: ReplyStyle, prompt: string): Section {
  const { isBegun, closings } = beginningOf(style, prompt);
  if (closings !== undefined) return { kind: "reasoning", close: closings };
  return isBegun ? { kind: "header" } : ANSWER;
}

const sectionOf = (marks: Marks | CallMarks): Section =>
  "body" in marks
    ? {
        kind: "call",
        close: marks.close,
        body: marks.body,
        open: marks.open,
        isPart: marks.isPart === true,
        needsTools: marks.needsTools === true,
      }
    : { kind: "reasoning", close: marks.close };

/** `…<|channel|>commentary to=functions.name <|constrain|>json`. */
function channelOf(header: string): Section {
  const recipient = /\bto=(?:functions\.)?([\w.:/-]+)/u.exec(header)?.[1];
  if (recipient !== undefined) return callTo(recipient, () => undefined);
  return /<\|channel\|>\s*analysis\b/u.test(header) ? { kind: "reasoning", close: [] } : ANSWER;
}

/** Code stands there as it is. */
const recipientOf = (name: string): Section =>
  name === EVERYONE ? ANSWER : callTo(name, (text) => (name === "python" ? { code: text } : undefined));

/** A call whose name is known; `other` reads what is no JSON. */
const callTo = (name: string, other: (text: string) => CallArguments | undefined): Section => ({
  kind: "call",
  close: [],
  open: "",
  isPart: false,
  needsTools: false,
  body: (text) => {
    const parsed = text.trim() === "" ? {} : parsedJson(text);
    const given = isRecord(parsed) ? parsed : other(text);
    return given === undefined ? undefined : [{ name, arguments: given }];
  },
});

/** The first of the marks in a text; of two at one place the longer. */
function firstOf(text: string, marks: readonly string[]): Found | undefined {
  let found: Found | undefined;
  for (const mark of marks) {
    const at = text.indexOf(mark);
    if (at < 0 || (found !== undefined && (at > found.at || (at === found.at && mark.length <= found.mark.length))))
      continue;
    found = { at, mark };
  }
  return found;
}

/** Length of the longest end of the text that may begin a mark. */
function openEnd(text: string, marks: readonly string[]): number {
  let longest = 0;
  for (const mark of marks)
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--)
      if (text.endsWith(mark.slice(0, length))) longest = length;
  return longest;
}
