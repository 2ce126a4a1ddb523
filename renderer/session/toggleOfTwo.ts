/** Chooses an entry or takes the choice back; of three choices the oldest goes. */
export const toggleOfTwo = (chosen: readonly number[], id: number): readonly number[] =>
  chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-2);
