"""NumPy and SciPy: plain array mathematics."""

import builtins

import numpy as np
import scipy
import scipy.fft
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats


def eval(expression, inputs=None):
    """Evaluates an expression over named arrays; np and scipy are in scope. A tuple becomes a list of arrays."""
    scope = {"np": np, "scipy": scipy, **(inputs or {})}
    return _arrays(_run(expression, scope))


def _run(expression, scope):
    # A body with several lines ends in an expression; the lines before it are statements.
    *statements, last = expression.strip().split("\n")
    if statements:
        builtins.exec("\n".join(statements), scope)
    return builtins.eval(last, scope)


def _arrays(value):
    return [np.asarray(item) for item in value] if isinstance(value, (tuple, list)) else np.asarray(value)
