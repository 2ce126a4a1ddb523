/** Every model family. A new one is its own file and one line here. */
import type { Family } from "../family.ts";
import { gemma } from "./gemma.ts";
import { gemma2 } from "./gemma2.ts";
import { gemma3 } from "./gemma3.ts";
import { granite } from "./granite.ts";
import { olmo } from "./olmo.ts";
import { olmo2 } from "./olmo2.ts";
import { olmoe } from "./olmoe.ts";
import { llama } from "./llama.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";

export const FAMILIES: readonly Family[] = [gemma, gemma2, gemma3, granite, olmo, olmo2, olmoe, llama, qwen2, qwen3];
