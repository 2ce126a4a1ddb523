/** Every model family. A new one is its own file and one line here. */
import type { Family } from "../family.ts";
import { apertus } from "./apertus.ts";
import { bailingmoe2 } from "./bailingmoe2.ts";
import { bert } from "./bert.ts";
import { cohere2moe } from "./cohere2moe.ts";
import { commandR } from "./commandR.ts";
import { deepseek } from "./deepseek.ts";
import { deepseek2 } from "./deepseek2.ts";
import { deepseek32 } from "./deepseek32.ts";
import { deepseek4 } from "./deepseek4.ts";
import { dots1 } from "./dots1.ts";
import { ernie } from "./ernie.ts";
import { exaone4 } from "./exaone4.ts";
import { falcon } from "./falcon.ts";
import { falconH1 } from "./falconH1.ts";
import { gemma } from "./gemma.ts";
import { gemma2 } from "./gemma2.ts";
import { gemma3 } from "./gemma3.ts";
import { gemma3n } from "./gemma3n.ts";
import { gemma4 } from "./gemma4.ts";
import { gemmaEmbedding } from "./gemmaEmbedding.ts";
import { glm4 } from "./glm4.ts";
import { glm4moe } from "./glm4moe.ts";
import { gpt2 } from "./gpt2.ts";
import { gptOss } from "./gptOss.ts";
import { gptneox } from "./gptneox.ts";
import { granite } from "./granite.ts";
import { granitehybrid } from "./granitehybrid.ts";
import { hunyuan } from "./hunyuan.ts";
import { internlm2 } from "./internlm2.ts";
import { jamba } from "./jamba.ts";
import { kimiLinear } from "./kimiLinear.ts";
import { lfm2 } from "./lfm2.ts";
import { llama } from "./llama.ts";
import { llama4 } from "./llama4.ts";
import { llamaEmbed } from "./llamaEmbed.ts";
import { mamba } from "./mamba.ts";
import { minicpm } from "./minicpm.ts";
import { minicpm3 } from "./minicpm3.ts";
import { minimaxM2 } from "./minimaxM2.ts";
import { mistral3 } from "./mistral3.ts";
import { modernBert } from "./modernBert.ts";
import { museGlimmer } from "./museGlimmer.ts";
import { nemotron } from "./nemotron.ts";
import { nemotronH } from "./nemotronH.ts";
import { olmo } from "./olmo.ts";
import { olmo2 } from "./olmo2.ts";
import { olmoe } from "./olmoe.ts";
import { phi2 } from "./phi2.ts";
import { phi3 } from "./phi3.ts";
import { plm } from "./plm.ts";
import { qwen2 } from "./qwen2.ts";
import { qwen3 } from "./qwen3.ts";
import { qwen35 } from "./qwen35.ts";
import { qwen3next } from "./qwen3next.ts";
import { qwen4exp } from "./qwen4exp.ts";
import { rwkv6 } from "./rwkv6.ts";
import { rwkv7 } from "./rwkv7.ts";
import { seed_oss } from "./seed_oss.ts";
import { smollm3 } from "./smollm3.ts";
import { stablelm } from "./stablelm.ts";
import { starcoder2 } from "./starcoder2.ts";
import { t5 } from "./t5.ts";
import { t5encoder } from "./t5encoder.ts";

export const FAMILIES: readonly Family[] = [
  apertus,
  bailingmoe2,
  bert,
  cohere2moe,
  commandR,
  deepseek,
  deepseek2,
  deepseek32,
  deepseek4,
  dots1,
  ernie,
  exaone4,
  falcon,
  falconH1,
  gemma,
  gemma2,
  gemma3,
  gemma3n,
  gemma4,
  gemmaEmbedding,
  glm4,
  glm4moe,
  gpt2,
  gptOss,
  gptneox,
  granite,
  granitehybrid,
  hunyuan,
  internlm2,
  jamba,
  kimiLinear,
  lfm2,
  llama,
  llama4,
  llamaEmbed,
  mamba,
  minicpm,
  minicpm3,
  minimaxM2,
  mistral3,
  modernBert,
  museGlimmer,
  nemotron,
  nemotronH,
  olmo,
  olmo2,
  olmoe,
  phi2,
  phi3,
  plm,
  qwen2,
  qwen3,
  qwen3next,
  qwen35,
  qwen4exp,
  rwkv6,
  rwkv7,
  seed_oss,
  smollm3,
  stablelm,
  starcoder2,
  t5,
  t5encoder,
];
