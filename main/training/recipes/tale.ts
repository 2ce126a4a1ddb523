/** The text that a character model learns when it is given none: small tales, put together by chance from parts that fit. */
import { below, randomOf } from "../data/order.ts";

const WHO = [
  "the fox",
  "the old miller",
  "a small owl",
  "the baker",
  "the river",
  "a quiet child",
  "the goat",
  "the moon",
];
const DID = ["found", "carried", "hid", "painted", "counted", "lost", "mended", "dreamt of"];
const WHAT = [
  "a red kite",
  "three stones",
  "the last apple",
  "a broken clock",
  "a bag of salt",
  "the long road",
  "a lamp",
];
const WHERE = ["near the bridge", "under the hill", "behind the mill", "in the snow", "by the sea", "at the market"];
const WHEN = ["in the morning", "that night", "when it rained", "after the harvest", "long ago"];
const SAID = ["it is enough", "come back soon", "nobody knows", "we will see", "the wind is cold"];
const SEPARATORS = ["And then", "So", "But", "After that"];

const CHARACTERS = 60_000;

/** Always the same text for a seed. */
export function taleText(seed: number): string {
  const random = randomOf(seed, 0x54414c45);
  const one = (of: readonly string[]): string => of[below(random, of.length)] ?? "";
  const large = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
  const parts: string[] = [];
  for (let length = 0; length < CHARACTERS;) {
    const [who, other] = [one(WHO), one(WHO)];
    const tale =
      `${large(one(WHEN))}, ${who} ${one(DID)} ${one(WHAT)} ${one(WHERE)}. ` +
      `${one(SEPARATORS)} ${other} ${one(DID)} ${one(WHAT)}. ` +
      `"${large(one(SAID))}," said ${who}.\n`;
    parts.push(tale);
    length += tale.length;
  }
  return parts.join("");
}
