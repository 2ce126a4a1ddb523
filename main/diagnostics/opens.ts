/** What can be opened, in the words of errors and of the first screen: each kind once. */
export const OPENED_MODELS = [
  "a .gguf file (of a split model, any part)",
  "a .safetensors file",
  "the folder of a Hugging Face model",
  "a graph in text (.rlx)",
] as const;

/** "a, b, or c" */
export const openedModelsText = (): string =>
  `${OPENED_MODELS.slice(0, -1).join(", ")}, or ${OPENED_MODELS.at(-1) ?? ""}`;
