/** Our two program texts for the editor: the IR's own text form, and Core ML's MIL. Monarch rules, written for these. */
import type { languages } from "monaco-editor/editor";

const types =
  /\b(?:bool|[iu](?:8|16|32|64)|int(?:4|8|16|32)|uint8|f(?:16|32|64)|fp(?:16|32)|bf16|c64|string|q[2-8]_(?:k|[01])|iq\d_\w+)\b/;

/** The grammar is that of docs/ir-text.md. */
export const irLanguage: languages.IMonarchLanguage = {
  defaultToken: "",
  tokenizer: {
    root: [
      [/\/\/.*$/, "comment"],
      [/"(?:[^"\\]|\\.)*"/, "string"],
      [/%\w+(?:\.\d+)?/, "variable"],
      [/#[0-9a-f]+/, "annotation"],
      [/@/, "annotation"],
      // Words of statements, where nothing says that they are the name of an attribute or an operation.
      [/\b(?:graph|return|inputs|input|param|state|constant|next|limit|all|by|none|subgraph)\b(?!\s*[:(])/, "keyword"],
      [/\b(?:true|false|inf|nan)\b/, "number"],
      [types, "type"],
      [/\b[A-Za-z_]\w*(?=\s*\()/, "function"],
      [/-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b/, "number"],
      [/[[\](){}=:,|<>*+→-]/, "delimiter"],
    ],
  },
};

export const milLanguage: languages.IMonarchLanguage = {
  defaultToken: "",
  tokenizer: {
    root: [
      [/\/\/.*$/, "comment"],
      [/"(?:[^"\\]|\\.)*"/, "string"],
      [/%[\w.]+/, "variable"],
      [/\b(?:program|func|block|main|return|tensor|list|tuple|dict|const|state|true|false)\b/, "keyword"],
      [types, "type"],
      [/\b[a-z_][\w.]*(?=\s*\()/, "function"],
      [/-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b/, "number"],
      [/[[\](){}=:,<>-]/, "delimiter"],
    ],
  },
};

/** Brackets and comments, for folding and matching. */
export const configuration: languages.LanguageConfiguration = {
  comments: { lineComment: "//" },
  brackets: [
    ["{", "}"],
    ["[", "]"],
    ["(", ")"],
  ],
};
