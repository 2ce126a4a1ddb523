/**
 * Every error code of the engine. The prefix says whose problem it is:
 * INPUT_ the file or text that was given · UNSUPPORTED_ a limit of ours that we name · ENV_ this machine ·
 * IR_ an ill-typed graph · CONTRACT_ a bad message · ENGINE_ the engine process · CANCELLED the user · BUG_ us.
 */
export const ERROR_CODES = [
  "INPUT_NOT_FOUND",
  "INPUT_UNREADABLE",
  "INPUT_CHANGED",
  "INPUT_NOT_GGUF",
  "INPUT_TRUNCATED",
  "INPUT_MALFORMED",
  "INPUT_LIMIT",
  "INPUT_MISSING_KEY",
  "INPUT_MISSING_TENSOR",
  "INPUT_SPLIT",
  "INPUT_TEMPLATE",
  "INPUT_TOKENIZER",
  "INPUT_ARGUMENT",
  "UNSUPPORTED_ARCHITECTURE",
  "UNSUPPORTED_TENSOR_TYPE",
  "UNSUPPORTED_TOKENIZER",
  "UNSUPPORTED_OP",
  "UNSUPPORTED_TARGET",
  "ENV_NO_ADDON",
  "ENV_NO_DEVICE",
  "ENV_NO_MEMORY",
  "ENV_NO_RUNTIME",
  "ENV_IO",
  "IR_TYPE",
  "IR_SHAPE",
  "IR_ATTRIBUTE",
  "IR_STRUCTURE",
  "IR_PARSE",
  "RUN_FAILED",
  "RUN_CONTEXT_FULL",
  "CONTRACT_INPUT",
  "CONTRACT_FRAME",
  "CONTRACT_UNKNOWN_METHOD",
  "CONTRACT_UNAUTHORIZED",
  "HANDLE_UNKNOWN",
  "HANDLE_BUSY",
  "ENGINE_LOST",
  "CANCELLED",
  "BUG_INVARIANT",
  "BUG_UNEXPECTED",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];
