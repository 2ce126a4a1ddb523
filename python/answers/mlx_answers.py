"""MLX on its CPU device."""

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from .numpy_answers import _run

mx.set_default_device(mx.cpu)
mx.disable_compile()


def eval(expression, inputs=None):
    """Evaluates an expression over named arrays; mx, nn and np are in scope."""
    arrays = {name: _to_mlx(value) for name, value in (inputs or {}).items()}
    value = _run(expression, {"mx": mx, "nn": nn, "np": np, **arrays})
    return [_to_numpy(item) for item in value] if isinstance(value, (tuple, list)) else _to_numpy(value)


def _to_mlx(value):
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.name == "bfloat16":
        return mx.array(value.astype(np.float32)).astype(mx.bfloat16)
    return mx.array(value)


def _to_numpy(value):
    if not isinstance(value, mx.array):
        return np.asarray(value)
    return np.array(value.astype(mx.float32) if value.dtype == mx.bfloat16 else value)
