/** Every model family. A new one is its own file and one line here. */
import type { Family } from "../family.ts";
import { llama } from "./llama.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";

export const FAMILIES: readonly Family[] = [llama, qwen2, qwen3];
