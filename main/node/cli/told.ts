/**
 * A conversation on the command line, as `rlx chat` and `rlx run` share it: what the model is told
 * besides the messages, and how an answer with thoughts and calls is written.
 */
import type { StreamInputOf } from "../../contract/contract.ts";
import type { Reply, TemplateView } from "../../contract/views/chat.ts";
import type { TokenView } from "../../contract/views/run.ts";
import { WorkbenchError } from "../../diagnostics/errors.ts";
import type { Command } from "./client.ts";
import { harmless } from "./output.ts";
import type { TextReader } from "./text.ts";
import { readText } from "./text.ts";

export interface ToldOptions {
  readonly tools?: string;
  readonly toolChoice?: string;
  readonly documents?: string;
  readonly template?: string;
  readonly templateVar?: readonly string[];
}

export type Told = Omit<Extract<StreamInputOf<"run.start">["prompt"], { readonly kind: "chat" }>, "kind" | "messages">;

export async function toldOf(
  { tools, toolChoice, documents, template, templateVar }: ToldOptions,
  reader: TextReader,
): Promise<Told> {
  return {
    ...(tools === undefined ? {} : { tools: await jsonOrFile(tools, reader) }),
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(documents === undefined ? {} : { documents: await jsonOrFile(documents, reader) }),
    ...(template === undefined ? {} : { template }),
    ...(templateVar === undefined ? {} : { variables: Object.fromEntries(templateVar.map(variableOf)) }),
  };
}

/** JSON itself, or a file that holds it. */
const jsonOrFile = (text: string, reader: TextReader): Promise<string> =>
  /^\s*[[{]/u.test(text) ? Promise.resolve(text) : readText(text, reader);

function variableOf(text: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/su.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw new WorkbenchError(
    "INPUT_ARGUMENT",
    `[rlx] --template-var: got ${JSON.stringify(text)}, expected <name>=<value>`,
    {
      hint: "A value is JSON, or else a text: --template-var enable_thinking=false.",
    },
  );
}

/** The chat template; notes what may go wrong with it. */
export async function notedTemplate(command: Command, model: string, told: Told): Promise<TemplateView> {
  const asked = { model, messages: null, ...told };
  const template = await command.client.call("chat.template", asked, { signal: command.signal });
  // A form that the file does not name may not be the one it was trained on.
  if (template.origin === "chatml") command.output.note(template.sentence);
  if (told.tools !== undefined && template.origin !== null) await noteTools(command, model, told, template.callFamily);
  return template;
}

/** Tools that the model is never told of, or calls that would not be noticed. */
async function noteTools(
  { client, output, signal }: Command,
  model: string,
  told: Told,
  callFamily: string | null,
): Promise<void> {
  const asked = { model, conversation: { kind: "sample" as const, id: "tools" as const }, ...told };
  const { abilities } = await client.call("template.inspect", asked, { signal });
  const tools = abilities.find(({ id }) => id === "tools");
  if (tools?.state === "left-out") output.note(`The chat template leaves tools out. ${tools.sentence}`);
  else if (callFamily === null)
    output.note("The form in which this model calls tools is not known: a call stays text.");
}

/** Calls are a part of the result, on a line each. */
export function tell({ output }: Command, { calls, notes }: Reply): void {
  for (const { name, arguments: given } of calls) output.line(`→ ${name}(${given})`);
  for (const note of notes) output.note(`! ${note}`);
}

const [DIM, PLAIN] = ["\u001b[2m", "\u001b[22m"];

/**
 * The answer goes to standard output; what was thought is dim there on a terminal, and on standard
 * error elsewhere.
 */
export function shower(
  { output, streams: { stdout, stderr } }: Command,
  showsThoughts: boolean,
): (pieces: TokenView["pieces"]) => void {
  const isTerminal = stdout.isTTY === true;
  let last: TokenView["pieces"][number]["part"] | undefined;
  return (pieces) => {
    for (const { part, text } of pieces) {
      if (part === "call" || (part === "reasoning" && !showsThoughts)) continue;
      const isThought = part === "reasoning";
      if (last === "reasoning" && !isThought) (isTerminal ? stdout : stderr).write("\n");
      last = part;
      if (!isThought) output.write(text);
      else if (!output.json) {
        if (isTerminal) stdout.write(`${DIM}${harmless(text)}${PLAIN}`);
        else stderr.write(text);
      }
    }
  };
}
