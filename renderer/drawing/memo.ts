/** Functions that remember their last result, so that what is drawn is made again only when something in it changed. */

/** The last result, while the arguments are the same. */
export function memo<A extends readonly unknown[], R>(make: (...args: A) => R): (...args: A) => R {
  let last: { readonly args: A; readonly result: R } | null = null;
  return (...args) => {
    const known = last;
    if (known?.args.every((value, i) => Object.is(value, args[i])) === true) return known.result;
    last = { args, result: make(...args) };
    return last.result;
  };
}

/** The object of last time, while its fields are the same. */
export function keeper<T extends object>(): (next: T) => T {
  let last: T | null = null;
  return (next) => {
    const known = last;
    if (known !== null && (Object.keys(next) as (keyof T)[]).every((key) => Object.is(known[key], next[key])))
      return known;
    last = next;
    return next;
  };
}
