/** `rlx chat`: a conversation with reasoning and tools. After a call, what is said next is its result. */
import { createInterface } from "node:readline/promises";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { ChatMessage, Reply, TemplateView, ToolCall } from "../../contract/views/chat.ts";
import type { Conversation } from "../../contract/views/conversation.ts";
import { conversationJson, conversationMarkdown, readConversation } from "../../contract/views/conversation.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import { writeAtomically } from "../files/smallFile.ts";
import type { Command, ModelChoice } from "./client.ts";
import { openModel } from "./client.ts";
import { harmless, INTERRUPTED } from "./output.ts";
import type { Answer, RunInput, SamplingOptions } from "./run.ts";
import { answer, mark, noteCache, runInput, statsLine } from "./run.ts";
import type { TextReader } from "./text.ts";
import { readText } from "./text.ts";
import { loadPromptCache, savePromptCache } from "./promptCache.ts";
import type { Told, ToldOptions } from "./told.ts";
import { notedTemplate, shower, tell, toldOf } from "./told.ts";

interface ChatOptions extends SamplingOptions, ToldOptions {
  readonly message?: readonly string[];
  readonly system?: string;
  readonly reasoning: string;
  readonly conversation?: string;
  readonly save?: string;
}

/** A conversation that goes on. */
interface Talk {
  readonly model: string;
  readonly title: string;
  /** Its own, where it was saved before. */
  readonly name: string | null;
  readonly options: ChatOptions;
  readonly told: Told;
  readonly messages: ChatMessage[];
  /** Calls without a result. */
  readonly pending: ToolCall[];
}

export async function chat(command: Command, choice: ModelChoice, options: ChatOptions): Promise<number> {
  if (!["show", "hide"].includes(options.reasoning))
    throw new WorkbenchError(
      "INPUT_ARGUMENT",
      `[rlx chat] --reasoning: got ${options.reasoning}, expected show or hide`,
      {
        hint: "With --json it is always told apart.",
      },
    );
  const told = await toldOf(options, command);
  await refuseExisting(options);
  await noteCache(command);
  const { model, title } = await openModel(command, choice, "sample");
  if (options.message === undefined && command.output.json)
    throw new WorkbenchError("INPUT_ARGUMENT", "[rlx chat] --json needs --message", {
      hint: "A conversation on the terminal has no JSON form.",
    });
  const template = await notedTemplate(command, model, told);
  const before = options.conversation === undefined ? null : await conversationOf(options.conversation, command);
  const messages = startOf(before?.messages ?? [], options.system);
  const talk = { model, title, name: before?.name ?? null, options, told, messages, pending: openCalls(messages) };
  if (options.message !== undefined) return speak(command, talk, options.message, template.origin);
  return converse(command, title, talk);
}

const conversationOf = async (path: string, reader: TextReader): Promise<Conversation> =>
  readConversation(await readText(path, reader));

/** Only the conversation that goes on is written over. */
async function refuseExisting({ save: path, conversation }: ChatOptions): Promise<void> {
  if (path === undefined || (conversation !== undefined && resolve(conversation) === resolve(path))) return;
  if (
    await stat(path).then(
      () => true,
      () => false,
    )
  )
    throw new WorkbenchError("INPUT_ARGUMENT", `[rlx chat] --save: got ${path}, which exists, expected a new file`, {
      hint: "Name another file, or go on with that conversation: --conversation with the same file.",
    });
}

/** What was said before, under the system prompt that is asked for, or else its own. */
const startOf = (before: readonly ChatMessage[], system: string | undefined): ChatMessage[] =>
  system === undefined
    ? [...before]
    : [{ role: "system", content: system }, ...before.filter(({ role }) => role !== "system")];

/** Calls of the last answer that have no result yet. */
function openCalls(messages: readonly ChatMessage[]): ToolCall[] {
  const last = messages.findLastIndex(({ calls = [] }) => calls.length > 0);
  const answered = new Set(messages.slice(last + 1).map(({ callId }) => callId));
  return (messages[last]?.calls ?? []).filter(({ id }) => !answered.has(id));
}

/** Writes what was said until now, where that is asked for. */
async function save({ title, name, options: { save: path }, messages }: Talk): Promise<void> {
  if (path === undefined) return;
  const first = messages.find(({ role }) => role === "user")?.content ?? "";
  const words = (typeof first === "string" ? first : "").replaceAll(/\s+/gu, " ").trim().slice(0, 60);
  const value: Conversation = {
    ...{ format: "rlx-conversation", version: 1, name: name ?? words, model: title, savedAt: Date.now() },
    messages,
  };
  const text = path.toLowerCase().endsWith(".md") ? conversationMarkdown(value) : conversationJson(value);
  await writeAtomically(resolve(path), text);
}

const showerOf = (command: Command, { options }: Talk): ReturnType<typeof shower> =>
  shower(command, options.reasoning === "show");

const requestOf = ({ model, options, told, messages }: Talk, command: Command): Promise<RunInput> =>
  runInput(command, model, options, { kind: "chat", messages: [...messages], ...told });

/** What a person says: the result of a call, where one waits for it. */
function say({ messages, pending }: Talk, content: string): void {
  const call = pending.shift();
  messages.push(
    call === undefined ? { role: "user", content } : { role: "tool", content, callId: call.id, name: call.name },
  );
}

function keep({ messages, pending }: Talk, { reasoning, content, calls }: Reply): void {
  messages.push({
    role: "assistant",
    content,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { calls }),
  });
  pending.push(...calls);
}

/** Each message in turn, then the end. */
async function speak(
  command: Command,
  talk: Talk,
  said: readonly string[],
  template: TemplateView["origin"],
): Promise<number> {
  const answers = [];
  const first = await requestOf(talk, command);
  const loaded = await loadPromptCache(command, first, talk.options);
  for (const content of said) {
    say(talk, content);
    // A model that called several tools waits for all results.
    if (talk.pending.length > 0) continue;
    const request = await requestOf(talk, command);
    const { text, start, done } = await answer(
      command,
      request,
      command.signal,
      mark(command),
      showerOf(command, talk),
    );
    command.output.line();
    tell(command, done.reply);
    if (command.streams.stderr.isTTY === true)
      command.output.note(`  ${statsLine(start, done.stats, request.context)}`);
    keep(talk, done.reply);
    await save(talk);
    const { device, truth, reference, sampling } = start;
    const { reply, reason, stats } = done;
    answers.push({ text, ...reply, device, truth, reference, sampling, reason, stats });
    if (done.reason === "cancelled") break;
  }
  const hasAnswers = answers.length > 0 && !command.signal.aborted;
  const saved = hasAnswers ? await savePromptCache(command, first, talk.options) : null;
  const cache = talk.options.promptCache === undefined ? {} : { promptCache: { loaded, saved } };
  command.output.value({ template, answers, messages: talk.messages, ...cache });
  return command.signal.aborted ? INTERRUPTED : 0;
}

async function converse(command: Command, title: string, talk: Talk): Promise<number> {
  // Before anything is read: lines that come in between would be lost.
  const first = await requestOf(talk, command);
  await loadPromptCache(command, first, talk.options);
  const { stdin, stdout, stderr } = command.streams;
  const terminal = createInterface({ input: stdin, output: stderr, prompt: "\n> " });
  let answering: AbortController | undefined;
  const end = (): void => terminal.close();
  // ^C on a terminal stops the answer that is being written; between answers it ends the conversation.
  const interrupt = (): void => (answering === undefined ? end() : answering.abort());
  terminal.on("SIGINT", interrupt);
  // Without a terminal it comes as a signal to the process, and ends both.
  command.signal.addEventListener("abort", end);
  command.output.note(`${title}. An empty line ends, Ctrl+C stops an answer.`);
  const ask = (): void => {
    const [call] = talk.pending;
    terminal.setPrompt(call === undefined ? "\n> " : `\nresult of ${harmless(call.name)}> `);
    terminal.prompt();
  };
  try {
    ask();
    for await (const line of terminal) {
      const content = line.trim();
      if (content === "" || command.signal.aborted) break;
      const before = talk.pending[0];
      say(talk, content);
      if (talk.pending.length === 0) {
        answering = new AbortController();
        const request = await requestOf(talk, command);
        const said = await answerUnlessStopped(command, talk, request, answering.signal);
        answering = undefined;
        if (said === undefined) {
          // Nothing was answered: what was asked is not part of the conversation.
          talk.messages.pop();
          if (before !== undefined) talk.pending.push(before);
        } else {
          keep(talk, said.done.reply);
          await save(talk);
          stdout.write("\n");
          tell(command, said.done.reply);
          stderr.write(`  ${statsLine(said.start, said.done.stats, request.context)}\n`);
        }
      }
      if (!command.signal.aborted) ask();
    }
  } finally {
    command.signal.removeEventListener("abort", end);
    end();
  }
  if (command.signal.aborted) return INTERRUPTED;
  if (talk.messages.some(({ role }) => role === "assistant")) await savePromptCache(command, first, talk.options);
  return 0;
}

/** The answer so far; undefined if it was stopped before its first token. */
async function answerUnlessStopped(
  command: Command,
  talk: Talk,
  input: RunInput,
  stop: AbortSignal,
): Promise<Answer | undefined> {
  try {
    const signal = AbortSignal.any([stop, command.signal]);
    return await answer(command, input, signal, mark(command), showerOf(command, talk));
  } catch (error) {
    const stopped = stop.aborted && !command.signal.aborted;
    if (!stopped || !(error instanceof WorkbenchError) || error.code !== "CANCELLED") throw error;
    command.output.endProgress();
    return undefined;
  }
}
