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


def gradients(program, inputs, cotangents, wrt):
    """Gradients, by input name, of a graph whose ops are given as the expressions of main/ops.

    A program is {inputs: names, steps, outputs}; a step is an input, a constant, an op by its expression, or an
    `if`, `while`, `scan` or `custom_fn` with programs as its regions. Operands and outputs are pairs of step and result.
    """

    def function(*values):
        return _walk(program, {**inputs, **dict(zip(wrt, values))})

    made, pull = jax.vjp(function, *[jnp.asarray(inputs[name]) for name in wrt])
    seeds = [jnp.asarray(seed, dtype=out.dtype) for seed, out in zip(cotangents, made)]
    return {name: np.asarray(gradient) for name, gradient in zip(wrt, pull(seeds))}


def _walk(program, arguments):
    results = []
    for step in program["steps"]:
        given = [results[place][output] for place, output in step["operands"]]
        results.append(_result(step, given, arguments))
    return [results[place][output] for place, output in program["outputs"]]


def _result(step, given, arguments):
    if step["kind"] == "input":
        return [arguments[step["name"]]]
    if step["kind"] == "constant":
        return [step["value"]]
    regions = [lambda values, own=own: _walk(own, dict(zip(own["inputs"], values))) for own in step["regions"]]
    if step["op"] == "if":
        return regions[0 if bool(given[0]) else 1](given[1:])
    if step["op"] == "while":
        return _loop(regions, given, step["attrs"]["carried"], step["attrs"]["maxIterations"])
    if step["op"] == "scan":
        return _scanned(regions[0], given, **{name: step["attrs"][name] for name in _SCAN})
    if step["op"] == "custom_fn":
        return list(_custom(*regions, *[bool(own["inputs"]) for own in step["regions"][1:3]])(*map(jnp.asarray, given)))
    named = {f"x{i}": value for i, value in enumerate(given)}
    scope = {**_scope(named), "np": jnp, "scipy": _Scipy, "xs": given, "a": step["attrs"], "s": step["shape"]}
    made = _run(step["expression"], scope)
    return list(made) if isinstance(made, (tuple, list)) else [made]


def _custom(forward, vjp, jvp, _vmap, has_vjp, has_jvp):
    """JAX's own custom functions, with the rules that the op has. The rule for backwards goes first, as the op's does."""

    def plain(*xs):
        return tuple(forward(xs))

    def placed(likes, made):
        made = iter(made)
        return tuple(
            next(made) if jnp.issubdtype(like.dtype, jnp.inexact) else np.zeros(like.shape, jax.dtypes.float0)
            for like in likes
        )

    def pull(kept, cotangents):
        xs, ys = kept
        wanted = [ct for y, ct in zip(ys, cotangents) if jnp.issubdtype(y.dtype, jnp.inexact)]
        return placed(xs, vjp([*xs, *ys, *wanted]))

    def push(xs, tangents):
        ys = plain(*xs)
        moved = [t for x, t in zip(xs, tangents) if jnp.issubdtype(x.dtype, jnp.inexact)]
        return ys, placed(ys, jvp([*xs, *ys, *moved]))

    if has_vjp:
        made = jax.custom_vjp(plain)
        made.defvjp(lambda *xs: (plain(*xs), (xs, plain(*xs))), pull)
        return made
    if has_jvp:
        made = jax.custom_jvp(plain)
        made.defjvp(push)
        return made
    return plain


def _loop(regions, given, carried, most):
    """JAX does not differentiate its own loop backwards; one that Python turns, it does."""
    state, rest = list(given[:carried]), list(given[carried:])
    for _ in range(most):
        if not bool(regions[0](state + rest)[0]):
            break
        state = regions[1](state + rest)
    return state


_SCAN = ("carried", "scanned", "length", "reverse")


def _scanned(body, given, carried, scanned, length, reverse):
    """JAX's own scan over a body that is walked while JAX traces it."""
    rows_at = len(given) - scanned
    fixed = list(given[carried:rows_at])

    def turn(carry, rows):
        made = body([*carry, *fixed, *rows])
        return tuple(made[:carried]), tuple(made[carried:])

    start, rows = tuple(map(jnp.asarray, given[:carried])), tuple(map(jnp.asarray, given[rows_at:]))
    carry, made = jax.lax.scan(turn, start, rows, length=length, reverse=reverse)
    return [*carry, *made]


class _Scipy:
    """What the expressions take of SciPy."""

    class special:
        expit = staticmethod(jax.nn.sigmoid)
        softmax = staticmethod(jax.nn.softmax)
        log_softmax = staticmethod(jax.nn.log_softmax)
        logsumexp = staticmethod(jax.scipy.special.logsumexp)
        rel_entr = staticmethod(jax.scipy.special.rel_entr)
        erf = staticmethod(jax.scipy.special.erf)
