/** Every model family. A new one is its own file and one line here. */
import type { Family } from "../family.ts";
import { apertus } from "./apertus.ts";
import { bailingmoe2 } from "./bailingmoe2.ts";
import { cohere2moe } from "./cohere2moe.ts";
import { commandR } from "./commandR.ts";
import { deepseek } from "./deepseek.ts";
import { deepseek2 } from "./deepseek2.ts";
import { deepseek32 } from "./deepseek32.ts";
import { dots1 } from "./dots1.ts";
import { ernie } from "./ernie.ts";
import { exaone4 } from "./exaone4.ts";
import { falcon } from "./falcon.ts";
import { gemma } from "./gemma.ts";
import { gemma2 } from "./gemma2.ts";
import { gemma3 } from "./gemma3.ts";
import { glm4 } from "./glm4.ts";
import { glm4moe } from "./glm4moe.ts";
import { gpt2 } from "./gpt2.ts";
import { gptOss } from "./gptOss.ts";
import { gptneox } from "./gptneox.ts";
import { granite } from "./granite.ts";
import { hunyuan } from "./hunyuan.ts";
import { internlm2 } from "./internlm2.ts";
import { llama } from "./llama.ts";
import { llama4 } from "./llama4.ts";
import { minicpm } from "./minicpm.ts";
import { minicpm3 } from "./minicpm3.ts";
import { minimaxM2 } from "./minimaxM2.ts";
import { mistral3 } from "./mistral3.ts";
import { nemotron } from "./nemotron.ts";
import { olmo } from "./olmo.ts";
import { olmo2 } from "./olmo2.ts";
import { olmoe } from "./olmoe.ts";
import { phi2 } from "./phi2.ts";
import { phi3 } from "./phi3.ts";
import { plm } from "./plm.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";
import { seed_oss } from "./seed_oss.ts";
import { smollm3 } from "./smollm3.ts";
import { stablelm } from "./stablelm.ts";
import { starcoder2 } from "./starcoder2.ts";

export const FAMILIES: readonly Family[] = [
  apertus,
  bailingmoe2,
  cohere2moe,
  commandR,
  deepseek,
  deepseek2,
  deepseek32,
  dots1,
  ernie,
  exaone4,
  falcon,
  gemma,
  gemma2,
  gemma3,
  glm4,
  glm4moe,
  gpt2,
  gptOss,
  gptneox,
  granite,
  hunyuan,
  internlm2,
  llama,
  llama4,
  minicpm,
  minicpm3,
  minimaxM2,
  mistral3,
  nemotron,
  olmo,
  olmo2,
  olmoe,
  phi2,
  phi3,
  plm,
  qwen2,
  qwen3,
  seed_oss,
  smollm3,
  stablelm,
  starcoder2,
];
