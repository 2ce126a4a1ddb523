"""JAX in float64: operations with their gradients."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Each small question is compiled anew: what LLVM does to make code fast costs more than it saves.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import lax

from .numpy_answers import _arrays, _run


def eval(expression, inputs=None):
    """Evaluates an expression over named arrays; jax, jnp, lax and np are in scope."""
    return _arrays(_run(expression, _scope(inputs)))


def vjp(expression, inputs, cotangents, wrt=None):
    """Value and vector-Jacobian product of an expression: {value, gradients by input name}."""
    names = list(wrt or inputs)
    fixed = {name: value for name, value in inputs.items() if name not in names}
    value, pull = jax.vjp(_function(expression, names, fixed), *[_smooth(inputs[name]) for name in names])
    seeds = cotangents if isinstance(value, (tuple, list)) else cotangents[0]
    seeds = jax.tree.map(lambda seed, out: jnp.asarray(seed, dtype=out.dtype), _like(value, seeds), value)
    return {"value": _arrays(value), "gradients": {n: np.asarray(g) for n, g in zip(names, pull(seeds))}}


def jvp(expression, inputs, tangents):
    """Value and Jacobian-vector product of an expression along the given tangents."""
    names = list(tangents)
    fixed = {name: value for name, value in inputs.items() if name not in names}
    function = _function(expression, names, fixed)
    points, directions = [_smooth(inputs[n]) for n in names], [_smooth(tangents[n]) for n in names]
    value, tangent = jax.jvp(function, points, directions)
    return {"value": _arrays(value), "tangent": _arrays(tangent)}


def _smooth(value):
    # A whole number from JSON is meant as a real one here.
    return float(value) if isinstance(value, int) else value


def _like(value, seeds):
    return type(value)(seeds) if isinstance(value, (tuple, list)) else seeds


def _scope(inputs):
    return {"jax": jax, "jnp": jnp, "lax": lax, "np": np, **(inputs or {})}


def _function(expression, names, fixed):
    return lambda *values: _run(expression, _scope({**fixed, **dict(zip(names, values))}))
