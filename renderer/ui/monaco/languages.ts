/** Our two program texts for the editor: the IR's own text form, and Core ML's MIL. Monarch rules, written for these. */
import type { languages } from "monaco-editor/editor";

const types =
  /\b(?:bool|[iu](?:8|16|32|64)|int(?:8|16|32)|uint8|f(?:16|32|64)|fp(?:16|32)|bf16|string|q[2-8]_(?:k|[01])|iq\d_\w+)\b/;

export const irLanguage: languages.IMonarchLanguage = {
  defaultToken: "",
  tokenizer: {
    root: [
      [/\/\/.*$/, "comment"],
      [/"(?:[^"\\]|\\.)*"/, "string"],
      [/%[\w.]+/, "variable"],
      [/@[\w.]+/, "annotation"],
      [/\b(?:graph|subgraph|return|input|output|param|const|state|group)\b/, "keyword"],
      [types, "type"],
      [/\b[a-z_][\w.]*(?=\s*[({])/, "function"],
      [/-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b/, "number"],
      [/[[\](){}=:,<>*+→-]/, "delimiter"],
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
