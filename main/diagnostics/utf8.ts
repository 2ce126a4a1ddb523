/** Bytes that are meant to be UTF-8: where they are not, and what they say all the same. */

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/**
 * Where bytes stop being UTF-8; undefined where all are. `text`: what they decode to. An ill-formed
 * sequence becomes a replacement mark, EF BF BD, so the bytes differ there from what their text is
 * written as.
 */
export function firstIllFormed(bytes: Uint8Array, text: string = decode(bytes)): number | undefined {
  const written = new TextEncoder().encode(text);
  let at = 0;
  while (at < bytes.length && bytes[at] === written[at]) at++;
  if (at === bytes.length && at === written.length) return undefined;
  // An ill-formed sequence may begin as the mark does.
  if (at >= 2 && bytes[at - 2] === 0xef && bytes[at - 1] === 0xbf) return at - 2;
  return at >= 1 && bytes[at - 1] === 0xef ? at - 1 : at;
}

export const byteText = (byte: number): string => `0x${byte.toString(16).toUpperCase().padStart(2, "0")}`;

/**
 * A text in which bytes that are no character by themselves stand as <0xE3>: for a token that is
 * part of a character.
 */
export function textOrBytes(bytes: Uint8Array): string {
  const text = decode(bytes);
  const at = firstIllFormed(bytes, text);
  if (at === undefined) return text;
  return `${textOrBytes(bytes.subarray(0, at))}<${byteText(bytes[at] ?? 0)}>${textOrBytes(bytes.subarray(at + 1))}`;
}
