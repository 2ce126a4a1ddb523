/** Filters that make texts. Each pays for what it walks over and makes. */
import { templateError } from "./budget.ts";
import { pairs } from "./containers.ts";
import type { Filter } from "./filter.ts";
import { formatPercent } from "./format.ts";
import { jsonOf } from "./json.ts";
import { firstCharacters, fixed } from "./numberFormat.ts";
import { escaped } from "./operators.ts";
import { WORD_WORK, capitalized, centered, lines, replaced, stripped } from "./textMethods.ts";
import { dictionary, elements, isSafe, isUndefined, listValue, numberOf, partsOf, safeValue } from "./values.ts";
import { textLength, textLike, textOf, textOrder, textValue, tupleValue, written } from "./values.ts";
import type { RuntimeValue } from "./values.ts";
import { wrapped } from "./wordwrap.ts";

const escape: Filter = (operand, _, { budget }) => {
  const text = textOf(operand, budget);
  return safeValue(isSafe(operand) ? text : escaped(text, budget));
};

const indent: Filter = (operand, args, { budget }) => {
  const { width, first, blank } = args.matched("width", "first", "blank");
  const text = args.requiredText(operand);
  budget.spend(text.length / 8);
  const columns = typeof width?.value === "string" ? 0 : Math.max(0, args.whole(width, 4));
  budget.text(columns);
  const step = typeof width?.value === "string" ? width.value : " ".repeat(columns);
  const parts = lines(`${text}\n`, false);
  budget.spend(parts.length);
  budget.text(text.length + parts.length * (step.length + 1));
  const indented = parts.map((line, i) => {
    const isIndented = i === 0 ? args.flag(first) : args.flag(blank) || line !== "";
    return isIndented ? step + line : line;
  });
  return textLike(operand, indented.join("\n"));
};

/** Names and values as attributes of HTML; what has no value is left out. */
const xmlAttributes: Filter = (operand, args, { budget }) => {
  const { autospace } = args.matched("autospace");
  const attributes = pairs(operand, budget).flatMap((pair) => {
    const [key, value] = elements(pair);
    if (key === undefined || value === undefined || isUndefined(value) || value.type === "NullValue") return [];
    const name = textOf(key, budget);
    // eslint-disable-next-line no-control-regex -- the white space of HTML
    if (/[\t\n\v\f\r\x1c-\x1f \x85\xa0/>=]/u.test(name))
      throw templateError("an attribute has a name that is not allowed");
    return [`${escaped(name, budget)}="${escaped(textOf(value, budget), budget)}"`];
  });
  const text = attributes.join(" ");
  budget.text(text.length);
  const hasSpace = text !== "" && (autospace === undefined || args.flag(autospace));
  return textValue(hasSpace ? ` ${text}` : text);
};

const truncate: Filter = (operand, args, { budget }) => {
  const { length, killwords, end, leeway } = args.matched("length", "killwords", "end", "leeway");
  // What is not there is short enough.
  const text = isUndefined(operand) ? "" : args.requiredText(operand);
  const [most, tail, extra] = [args.whole(length, 255), args.text(end) ?? "...", args.whole(leeway, 5)];
  budget.spend(text.length / 16);
  if (most < textLength(tail) || extra < 0) throw templateError("truncate is given a length below that of its end");
  if (textLength(text) <= most + extra) return operand;
  const cut = firstCharacters(text, most - textLength(tail));
  const space = args.flag(killwords) ? -1 : cut.lastIndexOf(" ");
  return textLike(operand, (space < 0 ? cut : cut.slice(0, space)) + tail);
};

const ENTITY = /&(?:#(\d+)|#x([\da-f]+)|(amp|lt|gt|quot|apos|nbsp));/giu;
const ENTITY_NAMES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

/** Without tags and comments, with one space between words. */
const stripTags: Filter = (operand, _, { budget }) => {
  const text = textOf(operand, budget);
  budget.spend(text.length / WORD_WORK);
  let kept = "";
  let at = 0;
  for (let open = text.indexOf("<"); open >= 0; open = text.indexOf("<", at)) {
    const isComment = text.startsWith("<!--", open);
    const close = isComment ? text.indexOf("-->", open + 4) : text.indexOf(">", open);
    if (close < 0) break;
    kept += text.slice(at, open);
    at = close + (isComment ? 3 : 1);
  }
  const words = stripped(kept + text.slice(at), undefined, "both").split(/[\s\x1c-\x1f\x85]+/u); // eslint-disable-line no-control-regex -- Python's white space
  return textValue(
    words.join(" ").replace(ENTITY, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
      if (name !== undefined) return ENTITY_NAMES[name] ?? whole;
      const code = decimal === undefined ? parseInt(hexadecimal ?? "", 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
    }),
  );
};

function quotedForUrl(text: string, keepsSlashes: boolean): string {
  const quoted = encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd")).replace(
    /[!'()*]/gu,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return keepsSlashes ? quoted.replaceAll("%2F", "/") : quoted;
}

/** A text for a URL; a dictionary or a list of pairs as its query. */
const urlEncode: Filter = (operand, _, { budget }) => {
  const isMany = Array.isArray(operand.value) || partsOf(operand) !== undefined || isUndefined(operand);
  if (!isMany) {
    const text = textOf(operand, budget);
    budget.text(text.length * 12);
    return textValue(quotedForUrl(text, true));
  }
  const entries = partsOf(operand) === undefined ? elements(operand, budget) : pairs(operand, budget);
  const parts = entries.map((pair) => {
    const both = elements(pair);
    if (both.length !== 2) throw templateError("urlencode is given a list of something that is no pair");
    return both.map((part) => quotedForUrl(textOf(part, budget), false).replaceAll("%20", "+")).join("=");
  });
  return textValue(parts.join("&"));
};

const wordWrap: Filter = (operand, args, { budget }) => {
  const { width, break_long_words, wrapstring, break_on_hyphens } = args.matched(
    "width",
    "break_long_words",
    "wrapstring",
    "break_on_hyphens",
  );
  const text = args.requiredText(operand);
  budget.spend(text.length);
  const style = {
    width: args.whole(width, 79),
    breaksWords: break_long_words === undefined || args.flag(break_long_words),
    breaksHyphens: break_on_hyphens === undefined || args.flag(break_on_hyphens),
  };
  if (style.width < 1) throw templateError("wordwrap is given no width from 1");
  const between = args.text(wrapstring) ?? "\n";
  const parts = lines(text, false).map((line) => wrapped(line, style).join(between));
  budget.text(parts.reduce((all, part) => all + part.length + between.length, 0));
  return textValue(parts.join(between));
};

const SIZES = ["k", "M", "G", "T", "P", "E", "Z", "Y"];

const fileSize: Filter = (operand, args) => {
  const { binary } = args.matched("binary");
  const { value } = operand;
  const bytes = typeof value === "string" ? Number(value.trim() === "" ? NaN : value) : numberOf(operand);
  if (bytes === undefined || Number.isNaN(bytes)) throw templateError("filesizeformat is given no number");
  const isBinary = args.flag(binary);
  const base = isBinary ? 1024 : 1000;
  if (bytes === 1) return textValue("1 Byte");
  if (bytes < base) return textValue(`${Math.trunc(bytes)} Bytes`);
  const found = SIZES.findIndex((_, i) => bytes < base ** (i + 2));
  const place = found < 0 ? SIZES.length - 1 : found;
  const letter = SIZES[place] ?? "";
  return textValue(
    `${fixed((base * bytes) / base ** (place + 2), 1)} ${isBinary ? `${letter.toUpperCase()}iB` : `${letter}B`}`,
  );
};

const format: Filter = (operand, args, { budget }) => {
  if (args.named.size > 0 && args.positional.length > 0)
    throw templateError("format is given values by their places and by their names");
  const values: RuntimeValue = args.named.size > 0 ? dictionary(args.named) : tupleValue(args.positional);
  return textValue(formatPercent(textOf(operand, budget), values, budget));
};

const LINE_WIDTH = 80;

/** As Python's pprint writes what fits into one line. */
const pretty: Filter = (operand, _, { budget }) => {
  const text = written(sortedKeys(operand), budget);
  if (textLength(text) > LINE_WIDTH) throw templateError("pprint of a value that is longer than a line");
  return textValue(text);
};

function sortedKeys(value: RuntimeValue): RuntimeValue {
  const parts = partsOf(value);
  if (parts !== undefined) {
    const names = [...parts].toSorted(([a], [b]) =>
      typeof a === "number" && typeof b === "number" ? a - b : textOrder(String(a), String(b)),
    );
    return dictionary(names.map(([name, part]) => [name, sortedKeys(part)]));
  }
  if (value.type === "ArrayValue") return listValue(elements(value).map(sortedKeys));
  return value.type === "TupleValue" ? tupleValue(elements(value).map(sortedKeys)) : value;
}

export const TEXT_MAKING_FILTERS: readonly (readonly [string, Filter])[] = [
  ["escape", escape],
  ["e", escape],
  ["forceescape", (operand, _, { budget }) => safeValue(escaped(textOf(operand, budget), budget))],
  ["safe", (operand, _, { budget }) => safeValue(textOf(operand, budget))],
  ["string", (operand, _, { budget }) => textLike(operand, textOf(operand, budget))],
  ["tojson", (operand, args, { budget }) => textValue(jsonOf(operand, args, budget))],
  ["indent", indent],
  ["truncate", truncate],
  ["wordwrap", wordWrap],
  ["striptags", stripTags],
  ["urlencode", urlEncode],
  ["xmlattr", xmlAttributes],
  ["filesizeformat", fileSize],
  ["format", format],
  ["pprint", pretty],
  [
    "center",
    (operand, args, { budget }) => {
      const columns = args.whole(args.matched("width").width, 80);
      return textLike(operand, centered(textOf(operand, budget), columns, " ", budget));
    },
  ],
  [
    "replace",
    (operand, args, { budget }) => {
      const { old, new: other, count } = args.matched("old", "new", "count");
      if (old === undefined || other === undefined) throw templateError("replace is given nothing to replace");
      const most = count === undefined || count.type === "NullValue" ? -1 : args.whole(count, -1);
      return textLike(
        operand,
        replaced(textOf(operand, budget), textOf(old, budget), textOf(other, budget), most, budget),
      );
    },
  ],
  [
    "trim",
    (operand, args, { budget }) => {
      const text = textOf(operand, budget);
      const characters = args.text(args.matched("chars").chars);
      budget.spend(text.length / 8 + (characters?.length ?? 0) / 4);
      return textLike(operand, stripped(text, characters, "both"));
    },
  ],
  ["upper", (operand, _, { budget }) => textLike(operand, textOf(operand, budget).toUpperCase())],
  ["lower", (operand, _, { budget }) => textLike(operand, textOf(operand, budget).toLowerCase())],
  ["capitalize", (operand, _, { budget }) => textLike(operand, capitalized(textOf(operand, budget)))],
  [
    "title",
    (operand, _, { budget }) => {
      const text = textOf(operand, budget);
      budget.spend(text.length / WORD_WORK);
      const words = text.split(/([-\s({[<]+)/u).map(capitalized);
      return textLike(operand, words.join(""));
    },
  ],
];
