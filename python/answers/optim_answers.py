"""Optimisers: NumPy in float64 from the papers' formulas, and optax where it has the optimiser. Gradients are JAX's.

`run` trains three problems side by side and gives every parameter after each step; names are "problem/name". Options have the names of main/training; those
not given have the defaults of the factories there.
"""

import functools
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np


def _quadratic(p, d):
    return 0.5 * p["x"] @ d["h"] @ p["x"] - d["b"] @ p["x"]


def _squares(p, d):
    return jnp.mean((d["x"] @ p["w"] - d["y"]) ** 2)


def _net(p, d):
    hidden = jnp.tanh(d["x"] @ p["w1"] + p["b1"])
    return jnp.mean((hidden @ p["w2"] + p["b2"] - d["y"]) ** 2)


PROBLEMS = {"quadratic": _quadratic, "squares": _squares, "net": _net}


@functools.cache
def _derivatives():
    """The gradient, and the Hessian's product with a vector: (parameters, data) and (parameters, vector, data)."""
    grad = jax.grad(_loss)
    return jax.jit(grad), jax.jit(lambda p, u, d: jax.jvp(lambda q: grad(q, d), (p,), (u,))[1])


def _signs(shape, step):
    """The signs of Hutchinson's estimate, by a formula that both sides have."""
    return np.where(np.sin(12.9898 * np.arange(np.prod(shape, dtype=int)) + step) >= 0, 1.0, -1.0).reshape(shape)


def _loss(p, d):
    def part(values, problem):
        return {key.split("/")[1]: value for key, value in values.items() if key.startswith(problem + "/")}

    return sum(loss(part(p, problem), part(d, problem)) for problem, loss in PROBLEMS.items())


def run(kind, name, data, initial, steps, lr, options=None):
    """Parameters after each step: {name: [steps, ...shape]}. `kind`: numpy or optax."""
    params = {key: np.asarray(value, np.float64) for key, value in initial.items()}
    grad, along = _derivatives()

    def gradient(p):
        return {key: np.asarray(value) for key, value in grad(p, data).items()}

    def curvature(p, step):
        u = {key: _signs(value.shape, step) for key, value in p.items()}
        product = along(p, u, data)
        return {key: u[key] * np.asarray(product[key]) for key in p}

    train = _with_optax if kind == "optax" else _with_numpy
    path = {key: [] for key in params}
    for now in train(name, params, gradient, curvature, steps, lr, options or {}):
        for key, value in now.items():
            path[key].append(np.array(value))
    return {key: np.stack(values) for key, values in path.items()}


# ------------------------------------------------------------------------------------------------ NumPy


def _with_numpy(name, params, gradient, curvature, steps, lr, options):
    rules = {key: (RULES["adamw"] if name == "muon" and value.ndim < 2 else RULES[name]) for key, value in params.items()}
    own = {key: ({} if name == "muon" and value.ndim < 2 else options) for key, value in params.items()}
    states = {key: {} for key in params}
    for t in range(1, steps + 1):
        grads = gradient(params)
        bent = curvature(params, t) if name == "sophia" else {key: None for key in params}
        params = {key: rules[key](params[key], grads[key], states[key], t, lr, own[key], bent[key]) for key in params}
        yield params


def _moments(s, g, b1, b2):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    return s["m"], s["v"]


def _sgd(w, g, s, t, lr, o, _):
    mu = o.get("momentum", 0)
    g = g + o.get("weightDecay", 0) * w
    s["v"] = mu * s.get("v", 0) + g
    return w - lr * (g + mu * s["v"] if o.get("nesterov") else s["v"])


def _adam(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    m, v = _moments(s, g + o.get("weightDecay", 0) * w, b1, b2)
    return w - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


def _adamw(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    m, v = _moments(s, g, b1, b2)
    return w - lr * ((m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps) + o.get("weightDecay", 0.01) * w)


def _nadamw(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    m, v = _moments(s, g, b1, b2)
    ahead = b1 * m / (1 - b1 ** (t + 1)) + (1 - b1) * g / (1 - b1**t)
    return w - lr * (ahead / (np.sqrt(v / (1 - b2**t)) + eps) + o.get("weightDecay", 0.01) * w)


def _radam(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    m, v = _moments(s, g + o.get("weightDecay", 0) * w, b1, b2)
    most = 2 / (1 - b2) - 1
    rho = most - 2 * t * b2**t / (1 - b2**t)
    mean = m / (1 - b1**t)
    if rho <= o.get("threshold", 4):
        return w - lr * mean
    r = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
    return w - lr * r * mean / (np.sqrt(v / (1 - b2**t)) + eps)


def _qhadamw(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.995), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    n1, n2 = o.get("nu1", 0.7), o.get("nu2", 1)
    m, v = _moments(s, g, b1, b2)
    upper = (1 - n1) * g + n1 * m / (1 - b1**t)
    lower = np.sqrt((1 - n2) * g**2 + n2 * v / (1 - b2**t)) + eps
    return w - lr * (upper / lower + o.get("weightDecay", 0.01) * w)


def _lamb(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-6)
    m, v = _moments(s, g, b1, b2)
    u = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps) + o.get("weightDecay", 0.01) * w
    sizes = np.linalg.norm(w), np.linalg.norm(u)
    return w - lr * (sizes[0] / sizes[1] if min(sizes) > 0 else 1) * u


def _lion(w, g, s, t, lr, o, _):
    b1, b2 = o.get("beta1", 0.9), o.get("beta2", 0.99)
    m = s.get("m", np.zeros_like(w))
    s["m"] = b2 * m + (1 - b2) * g
    return w - lr * (np.sign(b1 * m + (1 - b1) * g) + o.get("weightDecay", 0.01) * w)


def _rms(x):
    return np.sqrt(np.mean(x**2))


def _adafactor(w, g, s, t, lr, o, _):
    keep, eps1, eps2 = 1 - t ** -o.get("decay", 0.8), o.get("epsilon1", 1e-30), o.get("epsilon2", 1e-3)
    squares = g**2 + eps1
    if w.ndim == 2 and min(w.shape) >= o.get("leastFactored", 0):
        s["r"] = keep * s.get("r", 0) + (1 - keep) * squares.mean(1)
        s["c"] = keep * s.get("c", 0) + (1 - keep) * squares.mean(0)
        v = np.outer(s["r"], s["c"]) / s["r"].mean()
    else:
        v = s["v"] = keep * s.get("v", 0) + (1 - keep) * squares
    u = g / np.sqrt(v)
    u = u / max(1, _rms(u) / o.get("clip", 1))
    rate = min(lr, 1 / np.sqrt(t)) if o.get("relativeStep", True) else lr
    size = max(eps2, _rms(w)) if o.get("parameterScale", True) else 1
    return w - rate * size * u - rate * o.get("weightDecay", 0) * w


def _muon(w, g, s, t, lr, o, _):
    mu, rows, columns = o.get("momentum", 0.95), *w.shape
    s["b"] = mu * s.get("b", 0) + g
    x = g + mu * s["b"] if o.get("nesterov", True) else s["b"]
    tall = rows > columns
    x = x.T if tall else x
    x = x / (np.linalg.norm(x) + o.get("epsilon", 1e-7))
    for _ in range(o.get("iterations", 5)):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    x = x.T if tall else x
    size = {"original": max(1, rows / columns) ** 0.5, "matchRms": 0.2 * max(rows, columns) ** 0.5, "size": max(rows, columns) ** 0.5}
    return w - lr * (size[o.get("scaling", "original")] * x + o.get("weightDecay", 0) * w)


def _sophia(w, g, s, t, lr, o, bent):
    b1, b2 = o.get("beta1", 0.965), o.get("beta2", 0.99)
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    if t % o.get("interval", 10) == 1:
        s["h"] = b2 * s.get("h", 0) + (1 - b2) * bent
    m = s["m"] / (1 - b1**t) if o.get("biasCorrection") else s["m"]
    clip = o.get("clip", 1)
    step = np.clip(m / np.maximum(o.get("gamma", 0.01) * s["h"], o.get("epsilon", 1e-12)), -clip, clip)
    return w - lr * (step + o.get("weightDecay", 0.1) * w)


def _mars(w, g, s, t, lr, o, _):
    b1, b2, eps = o.get("beta1", 0.95), o.get("beta2", 0.99), o.get("epsilon", 1e-8)
    if w.ndim < 2 and not o.get("vectors", False):
        return _adamw(w, g, s, t, lr, {"beta1": 0.9, "beta2": 0.95, "weightDecay": 0.1, "epsilon": eps}, None)
    before = s.get("before", g)
    s["before"] = g
    c = g + o.get("gamma", 0.025) * b1 / (1 - b1) * (g - before)
    c = c / max(1, np.linalg.norm(c))
    m, v = _moments(s, c, b1, b2)
    return w - lr * ((m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps) + o.get("weightDecay", 0) * w)


def _schedule_free(w, g, s, t, lr, o, _):
    # x and z are kept, as the paper writes it; the parameter is y.
    b1, b2, eps = o.get("beta1", 0.9), o.get("beta2", 0.999), o.get("epsilon", 1e-8)
    x, z = s.get("x", w), s.get("z", w)
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    u = g / (np.sqrt(s["v"] / (1 - b2**t)) + eps) + o.get("weightDecay", 0) * w
    s["z"] = z - lr * u
    weight = lr ** o.get("weightPower", 2)
    s["sum"] = s.get("sum", 0) + weight
    c = weight / s["sum"]
    s["x"] = (1 - c) * x + c * s["z"]
    return b1 * s["x"] + (1 - b1) * s["z"]


def _soap(w, g, s, t, lr, o, _):
    b1, b2, bs, eps = o.get("beta1", 0.95), o.get("beta2", 0.95), o.get("shampooBeta", 0.95), o.get("epsilon", 1e-8)
    if t == 1:
        s["m"], s["v"] = np.zeros_like(g), np.zeros_like(g)
        if w.ndim == 2:
            s["l"], s["r"] = (1 - bs) * g @ g.T, (1 - bs) * g.T @ g
            s["ql"], s["qr"] = (np.linalg.eigh(x)[1][:, ::-1] for x in (s["l"], s["r"]))
        return w
    n = t - 1
    ql, qr = s.get("ql"), s.get("qr")
    into = (lambda x: ql.T @ x @ qr) if w.ndim == 2 else (lambda x: x)
    back = (lambda x: ql @ x @ qr.T) if w.ndim == 2 else (lambda x: x)
    s["m"] = b1 * s["m"] + (1 - b1) * g
    s["v"] = b2 * s["v"] + (1 - b2) * into(g) ** 2
    rate = lr * np.sqrt(1 - b2**n) / (1 - b1**n)
    next_w = w - rate * back(into(s["m"]) / (np.sqrt(s["v"]) + eps)) - lr * o.get("weightDecay", 0.01) * w
    if w.ndim == 2:
        s["l"], s["r"] = bs * s["l"] + (1 - bs) * g @ g.T, bs * s["r"] + (1 - bs) * g.T @ g
        if n % o.get("interval", 10) == 0:
            for side, axis in (("l", 0), ("r", 1)):
                q = s["q" + side]
                order = np.argsort(-np.diag(q.T @ s[side] @ q), kind="stable")
                s["v"] = np.take(s["v"], order, axis)
                s["q" + side] = np.linalg.qr(s[side] @ q[:, order])[0]
    return next_w


def _kron(w, g, s, t, lr, o, _):
    mu, rate, limit = o.get("momentum", 0.9), o.get("preconditionerRate", 0.1), o.get("longestSide", 8192)
    s["m"] = mu * s.get("m", 0) + (1 - mu) * g
    m = s["m"] / (1 - mu**t)
    table = m if m.ndim == 2 else m[:, None]
    if "q" not in s:
        s["q"] = [np.eye(n) if w.ndim == 2 and 1 < n <= limit else np.ones(n) for n in table.shape]
        s["due"] = 0.0
    full = [q if q.ndim == 2 else np.diag(q) for q in s["q"]]
    flat = max(0, t - o.get("fittedSteps", 250))
    s["due"] += max(o.get("leastShare", 0.03), min(1, np.exp(-o.get("rarer", 0.001) * flat)))
    if s["due"] >= 1 - 1e-9:
        s["due"] -= 1
        a = full[0] @ table @ full[1].T
        inverse = [np.linalg.inv(q) for q in full]
        grams = [x.T @ x for x in inverse]
        terms = [(a @ a.T, grams[0] * np.trace(grams[1])), (a.T @ a, grams[1] * np.trace(grams[0]))]
        for i, (first, second) in enumerate(terms):
            if w.ndim < 2 and i == 1:
                continue  # a vector has one factor
            if s["q"][i].ndim == 1:
                one, two = np.diag(first), np.diag(second)
                s["q"][i] = s["q"][i] * (1 - rate * (one - two) / np.max(np.abs(one + two)))
            else:
                step = rate * np.triu(first - second) / _spectral(first + second)
                s["q"][i] = s["q"][i] - step @ s["q"][i]
        full = [q if q.ndim == 2 else np.diag(q) for q in s["q"]]
    u = (full[0].T @ full[0] @ table @ full[1].T @ full[1]).reshape(w.shape)
    return w - lr * (u / max(1, _rms(u) / o.get("clip", 1.1)) + o.get("weightDecay", 0) * w)


def _spectral(x):
    largest = np.max(np.abs(x))
    unit = x / largest
    along = unit[:, np.argmax((unit**2).sum(0))] @ unit
    return largest * np.linalg.norm(along / np.linalg.norm(along) @ unit)


RULES = {
    "sgd": _sgd, "adam": _adam, "adamw": _adamw, "nadamw": _nadamw, "radam": _radam, "qhadamw": _qhadamw, "lamb": _lamb,
    "adafactor": _adafactor, "lion": _lion, "soap": _soap, "kron": _kron, "muon": _muon, "sophia": _sophia, "mars": _mars,
    "scheduleFreeAdamw": _schedule_free,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------ optax


def _with_optax(name, params, gradient, curvature, steps, lr, o):
    # Not Sophia: optax moves its average of the Hessian after the step, the paper before it.
    import optax

    both = lambda p: jax.tree.map(lambda x: optax.contrib.MuonDimensionNumbers(1, 0) if x.ndim == 2 else None, p)
    decay = o.get("weightDecay", 0.01)
    make = {
        "sgd": lambda: optax.sgd(lr, o.get("momentum"), o.get("nesterov", False)),
        "adam": lambda: optax.adam(lr),
        "adamw": lambda: optax.adamw(lr, weight_decay=decay),
        "nadamw": lambda: optax.nadamw(lr, weight_decay=decay),
        "radam": lambda: optax.radam(lr, threshold=o["threshold"]),
        "lamb": lambda: optax.lamb(lr, weight_decay=decay),
        "lion": lambda: optax.lion(lr, weight_decay=decay),
        "adafactor": lambda: optax.adafactor(lr, min_dim_size_to_factor=o.get("leastFactored", 0)),
        "muon": lambda: optax.contrib.muon(
            lr, eps=o["epsilon"], adam_weight_decay=0.01, muon_weight_dimension_numbers=both,
            consistent_rms={"original": None, "matchRms": 0.2, "size": 1}[o.get("scaling", "original")],
        ),
        "scheduleFreeAdamw": lambda: optax.contrib.schedule_free_adamw(lr, weight_decay=o.get("weightDecay", 0)),
    }  # fmt: skip
    rule = make[name]()
    # Compiled once and run 200 times: compiling is what takes long.
    update = jax.jit(rule.update, compiler_options={"xla_backend_optimization_level": 0})
    state = rule.init(params)
    for t in range(1, steps + 1):
        updates, state = update(gradient(params), state, params)
        params = optax.apply_updates(params, updates)
        yield params
