/** The hash of the sources that this program was built from, or undefined where nothing was built (tsx, tests). */

/** Replaced by the bundler with what scripts/build.mjs computed. */
declare const RLX_BUILD_HASH: string | undefined;

export const BUILD_HASH: string | undefined = typeof RLX_BUILD_HASH === "string" ? RLX_BUILD_HASH : undefined;
