/** What the oracle expressions of ops share: Python for NumPy, SciPy or JAX (main/ops/defineOp.ts, `Oracle`). */

/** Statements and, last, the expression. A part that spans lines is one statement. */
export const lines = (...parts: readonly string[]): string => parts.join("\n\n");
