"""Prints erf_coefficients.inc: least-squares fits of erf on Chebyshev nodes, in double precision (needs scipy)."""

import numpy as np
from scipy.special import erf, erfcx


def nodes(low: float, high: float, count: int) -> np.ndarray:
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(count) + 0.5) / count)


def fit(x: np.ndarray, y: np.ndarray, degree: int) -> np.ndarray:
    powers = np.vander(x, degree + 1)
    return np.linalg.lstsq(powers / y[:, None], np.ones_like(y), rcond=None)[0]


def show(name: str, values: np.ndarray) -> None:
    body = ", ".join(f"{np.float32(v):.9g}f" for v in values)
    print(f"inline constexpr float {name}[] = {{{body}}};")


z = nodes(0.0, 1.0, 400)
x = np.sqrt(z)
print("// Made by native/tests/kernels/fit_erf.py; highest power first.")
show("kErfSmall", fit(z, erf(x) / x, 6))
t = nodes(1 / (1 + 4.2 / 2), 1 / 1.5, 400)
show("kErfLarge", fit(t, erfcx(2 * (1 / t - 1)), 8))
