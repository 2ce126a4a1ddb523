/** Words for people that the engine and the command line both write. */

/** "1 segment", "2 segments". */
export const counted = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;
