/** Values as JSON, written as Python's json.dumps does it. */
import type { Arguments } from "./arguments.ts";
import type { TemplateBudget } from "./budget.ts";
import { templateError } from "./budget.ts";
import { Parts } from "./format.ts";
import { elements, isUndefined, keyOf, kindOf, numberText, partsOf, textOrder } from "./values.ts";
import type { RuntimeValue } from "./values.ts";

interface Style {
  readonly indent: string | undefined;
  readonly between: string;
  readonly colon: string;
  readonly isAscii: boolean;
  readonly isSorted: boolean;
}

export function jsonOf(value: RuntimeValue, args: Arguments, budget: TemplateBudget): string {
  const { ensure_ascii, indent, separators, sort_keys } = args.matched(
    "ensure_ascii",
    "indent",
    "separators",
    "sort_keys",
  );
  const step = indentOf(args, indent, budget);
  const [between = step === undefined ? ", " : ",", colon = ": "] =
    separators === undefined || separators.type === "NullValue"
      ? []
      : elements(separators).map((part) => args.requiredText(part));
  const style = { indent: step, between, colon, isAscii: args.flag(ensure_ascii), isSorted: args.flag(sort_keys) };
  const parts = new Parts(budget);
  writeValue(value, style, "\n", parts);
  return parts.text;
}

function indentOf(args: Arguments, indent: RuntimeValue | undefined, budget: TemplateBudget): string | undefined {
  if (indent === undefined || indent.type === "NullValue") return undefined;
  if (typeof indent.value === "string") return indent.value;
  const width = Math.max(0, args.whole(indent, 0));
  budget.text(width);
  return " ".repeat(width);
}

/** `line` begins a line at the depth of the value. */
function writeValue(value: RuntimeValue, style: Style, line: string, parts: Parts): void {
  const inner: unknown = value.value;
  const entries = partsOf(value);
  if (isUndefined(value)) throw templateError("something undefined is written as JSON");
  if (value.type === "NullValue") parts.add("null");
  else if (typeof inner === "string") parts.add(quoted(inner, style));
  else if (typeof inner === "boolean") parts.add(String(inner));
  else if (typeof inner === "number") parts.add(jsonNumber(value));
  else if (Array.isArray(inner))
    writeParts("[", "]", elements(value), style, line, parts, (item, inside) => {
      writeValue(item, style, inside, parts);
    });
  else if (entries !== undefined)
    writeParts("{", "}", sortedKeys(elements(value), style), style, line, parts, (key, inside) => {
      const item = entries.get(keyOf(key) ?? "");
      parts.add(typeof key.value === "string" ? quoted(key.value, style) : `"${numberText(key)}"`);
      parts.add(style.colon);
      if (item !== undefined) writeValue(item, style, inside, parts);
    });
  else throw templateError(`${kindOf(value)} is written as JSON`);
}

function writeParts<T>(
  open: string,
  close: string,
  items: readonly T[],
  { indent, between }: Style,
  line: string,
  parts: Parts,
  write: (item: T, inside: string) => void,
): void {
  const inside = indent === undefined ? "" : line + indent;
  parts.add(open);
  items.forEach((item, i) => {
    parts.add(`${i === 0 ? "" : between}${inside}`);
    write(item, inside);
  });
  if (items.length > 0 && indent !== undefined) parts.add(line);
  parts.add(close);
}

function sortedKeys(keys: readonly RuntimeValue[], { isSorted }: Style): readonly RuntimeValue[] {
  if (!isSorted) return keys;
  return keys.toSorted((a, b) => {
    if (typeof a.value === "string" && typeof b.value === "string") return textOrder(a.value, b.value);
    if (typeof a.value === "number" && typeof b.value === "number") return a.value - b.value;
    throw templateError("keys of different kinds have no order");
  });
}

function quoted(text: string, { isAscii }: Style): string {
  const written = JSON.stringify(text);
  if (!isAscii) return written;
  return written.replace(/[\x7f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function jsonNumber(value: RuntimeValue): string {
  const number = Number(value.value);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "Infinity" : "-Infinity";
  return numberText(value);
}
