/** Forms of calls with a tag for each argument, as rules: those of Qwen Coder, GLM and their like. */
import { literal } from "../grammar/elements.ts";
import type { Sequence } from "../grammar/rules.ts";
import type { Json, ValueForm } from "../grammar/valueForm.ts";
import { bareForm, jsonForm } from "../grammar/valueForm.ts";
import type { CallForm, CallWriter, Tool } from "./callGrammar.ts";
import { isTextOnly, typesOf } from "./reply.ts";

export const NEW_LINE = literal("\n");

/** Names that stand bare in the text. */
const SIMPLE_NAME = /^[\w.:/-]+$/u;

export function nameOf(writer: CallWriter, tool: Tool, form: RegExp = SIMPLE_NAME): Sequence {
  if (form.test(tool.name)) return literal(tool.name);
  throw writer.wrong(tool, "got a name that this form of call cannot write, expected letters, digits and _");
}

/** A text as it is where the schema takes nothing else, else JSON. */
function bareOrJson(schema: Json, bare: ValueForm, json: ValueForm): ValueForm {
  const types = typesOf(schema);
  return types !== undefined && isTextOnly(types) ? bare : json;
}

interface TagForm {
  /** Around all calls. */
  readonly open: string;
  readonly close: string;
  readonly isFramePerCall: boolean;
  readonly head: (name: string) => string;
  readonly tail: string;
  readonly parameter: (name: string, isText: boolean) => string;
  readonly parameterEnd: string;
  /** Values on lines of their own; without that no text begins or ends with a line end. */
  readonly isOnLines: boolean;
  readonly marks: readonly string[];
}

/** `<function=name>`, then `<parameter=key>value</parameter>` for each argument. */
export const tags =
  (form: TagForm): CallForm =>
  (writer) => {
    const { builder } = writer;
    const marks = [form.parameterEnd, form.tail, form.close, ...form.marks];
    // A line end beside a tag is taken for the tag's own.
    const bare = bareForm(builder, marks, form.isOnLines ? undefined : "\n");
    const json = jsonForm(builder, marks);
    const line = form.isOnLines ? NEW_LINE : [];
    const call = writer.each((tool) => {
      nameOf(writer, tool);
      const parameters = writer.pairs(tool, [], (property, value) => {
        const chosen = bareOrJson(property.schema, bare, json);
        if (!SIMPLE_NAME.test(property.name))
          throw writer.wrong(tool, `${property.at}: got a name that this form of call cannot write`);
        return [
          ...literal(form.parameter(property.name, chosen === bare)),
          ...line,
          ...value(chosen),
          ...line,
          ...literal(`${form.parameterEnd}\n`),
        ];
      });
      return [...literal(`${form.head(tool.name)}\n`), ...parameters, ...literal(form.tail)];
    });
    const open = [...writer.mark(form.open), ...NEW_LINE];
    const close = [...NEW_LINE, ...writer.mark(form.close)];
    return form.isFramePerCall
      ? writer.row([...open, call, ...close], NEW_LINE)
      : [...open, ...writer.row([call], NEW_LINE), ...close];
  };

export const functionTags = (open: string, close: string, isOnLines: boolean): CallForm =>
  tags({
    ...{ open, close, isOnLines, isFramePerCall: true, marks: [] },
    head: (name) => `<function=${name}>`,
    tail: "</function>",
    parameter: (name) => `<parameter=${name}>`,
    parameterEnd: "</parameter>",
  });

export const glm: CallForm = (writer) => {
  const { builder } = writer;
  const marks = ["</arg_value>", "</arg_key>", "</tool_call>"];
  const [bare, json] = [bareForm(builder, marks), jsonForm(builder, marks)];
  const line = [writer.choice(NEW_LINE, [])];
  const call = writer.each((tool) => [
    ...nameOf(writer, tool),
    ...writer.pairs(tool, [], (property, value) => {
      if (!SIMPLE_NAME.test(property.name))
        throw writer.wrong(tool, `${property.at}: got a name that this form of call cannot write`);
      return [
        ...line,
        ...writer.mark("<arg_key>"),
        ...literal(property.name),
        ...writer.mark("</arg_key>"),
        ...line,
        ...writer.mark("<arg_value>"),
        ...value(bareOrJson(property.schema, bare, json)),
        ...writer.mark("</arg_value>"),
      ];
    }),
  ]);
  return writer.row([...writer.mark("<tool_call>"), call, ...line, ...writer.mark("</tool_call>")], line);
};
