/** A request that `rlx serve --api` answered, as its log on standard error has it. */
import type { ServerRequest } from "../../contract/views/server.ts";
import { counted } from "../../engine/words.ts";
import type { Beside } from "../api/requestLog.ts";
import { figureText, harmless } from "./output.ts";

/** One request, one line; texts behind it where they are kept. */
export function requestLine(request: ServerRequest, { recomputed, notes }: Beside): string {
  const { at, status, method, path, model, error, promptTokens, generatedTokens } = request;
  const parts = [
    `${new Date(at).toISOString()} ${status ?? "---"} ${harmless(method)} ${harmless(path)}`,
    ...(model === null ? [] : [harmless(model)]),
    ...(promptTokens === 0 ? [] : [`${counted(promptTokens, "prompt token")}${reusedText(request, recomputed)}`]),
    ...(generatedTokens === 0 ? [] : [`${generatedTokens} written`]),
    ...(request.rate === null ? [] : [`at ${figureText(request.rate)}`]),
    ...(request.firstTokenSeconds === null ? [] : [`first after ${figureText(request.firstTokenSeconds)}`]),
    ...notes.map(harmless),
    ...(error === null ? [] : [harmless(`${error.code}: ${error.sentence}`)]),
  ];
  const texts = [request.prompt, request.answer].flatMap((text) => (text === null ? [] : [`  ${harmless(text)}`]));
  return [parts.join("  "), ...texts].join("\n");
}

/** In the words of a turn of `rlx run`. */
function reusedText({ reusedTokens }: ServerRequest, recomputed: Beside["recomputed"]): string {
  if (recomputed !== null)
    return `, reused ${reusedTokens}, recomputed ${recomputed.tokens}, because ${recomputed.because}`;
  return reusedTokens > 0 ? `, ${reusedTokens} of them reused` : "";
}
