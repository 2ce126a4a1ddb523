"""Muon for the matrices inside the blocks, Adam for the embedding and the norms.

Muon replaces a matrix's momentum by the nearest orthogonal matrix (five Newton-Schulz steps), so that every
direction learns at the same rate. On this small model it needs about half of Adam's steps.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .model import Parameters

State = dict[str, jax.Array]

_MOMENTUM = 0.95
_BETA1, _BETA2 = 0.9, 0.98
_MATRIX_DECAY = 0.02


def is_matrix(name: str) -> bool:
    return name.startswith("blk.") and "norm" not in name


def initial_state(parameters: Parameters) -> State:
    state: State = {}
    for name, value in parameters.items():
        state["mean." + name] = jnp.zeros_like(value)
        if not is_matrix(name):
            state["square." + name] = jnp.zeros_like(value)
    return state


def _orthogonal(matrix: jax.Array) -> jax.Array:
    """Newton-Schulz with the quintic of Jordan's Muon: x <- a x + (b g + c g g) x, with g = x x^T."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / (jnp.linalg.norm(x) + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


def update(
    parameters: Parameters, gradients: Parameters, state: State, step: jax.Array, rate: jax.Array
) -> tuple[Parameters, State]:
    """One step; `rate` runs from 0 to 1 and scales the base rates below."""
    next_parameters: Parameters = {}
    next_state: State = {}
    for name, value in parameters.items():
        gradient = gradients[name]
        mean = state["mean." + name]
        if is_matrix(name):
            mean = _MOMENTUM * mean + gradient
            direction = _orthogonal(gradient + _MOMENTUM * mean)
            scale = max(1.0, value.shape[0] / value.shape[1]) ** 0.5
            step_size = 0.02 * rate
            next_parameters[name] = value * (1 - _MATRIX_DECAY * step_size) - step_size * scale * direction
        else:
            mean = _BETA1 * mean + (1 - _BETA1) * gradient
            square = _BETA2 * state["square." + name] + (1 - _BETA2) * gradient * gradient
            next_state["square." + name] = square
            unbiased = mean / (1 - _BETA1**step)
            spread = jnp.sqrt(square / (1 - _BETA2**step)) + 1e-8
            next_parameters[name] = value - 0.003 * rate * unbiased / spread
        next_state["mean." + name] = mean
    return next_parameters, next_state
