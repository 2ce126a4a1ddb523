/**
 * The picture in Python, written by itself: no tiles beyond the list's rule, one splat after the other over the whole picture,
 * matrices inverted, the rotation from the product of quaternions. NumPy runs it, and JAX differentiates it, where the
 * order of the splats is fixed.
 */
import { lines } from "../oracle.ts";

export const SPLAT_ORACLE = lines(
  `
def turned(q, v):
    u, w = q[:3], q[3]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)
`.trim(),
  `
def legendre(d, count):
    x, y, z = d
    n = lambda a, b: (a / (b * np.pi)) ** 0.5
    table = [n(1, 4)]
    if count > 1:
        table += [-n(3, 4) * y, n(3, 4) * z, -n(3, 4) * x]
    if count > 4:
        table += [
            n(15, 4) * x * y, -n(15, 4) * y * z, n(5, 16) * (3 * z**2 - 1), -n(15, 4) * x * z, n(15, 16) * (x**2 - y**2),
            -n(35, 32) * y * (3 * x**2 - y**2), n(105, 4) * x * y * z, -n(21, 32) * y * (5 * z**2 - 1),
            n(7, 16) * z * (5 * z**2 - 3), -n(21, 32) * x * (5 * z**2 - 1), n(105, 16) * z * (x**2 - y**2),
            -n(35, 32) * x * (x**2 - 3 * y**2),
        ]
    return np.stack([np.asarray(v) for v in table[:count]]) if count else np.zeros(0)
`.trim(),
  "W, H, tile, reach, cutoff, most, least, entries = (a.get(k, d) for k, d in [('width', 64), ('height', 64), ('tileSize', 16), ('radiusScale', 1.6), ('alphaCutoff', 1 / 255), ('maxSplatSteps', 32), ('transmittanceThreshold', 0.01), ('maxListEntries', 576)])",
  "eye, goal, up, (fov, near, far), ground = x6[:3], x6[3:6], x6[6:9], x6[9:12], x6[12:15]",
  "forward = (goal - eye) / np.linalg.norm(goal - eye)",
  "right = np.cross(forward, up) / np.linalg.norm(np.cross(forward, up))",
  "frame = np.stack([right, np.cross(forward, right), forward])",
  "focal = H / (2 * np.tan(fov / 2))",
  `
def flat(i):
    p = frame @ (x0[i] - eye)
    q = x2[i] / np.linalg.norm(x2[i])
    rotation = np.stack([turned(q, e) for e in np.eye(3)], 1)
    spread = rotation @ np.diag(np.exp(2 * x1[i])) @ rotation.T
    side = 1.3 * np.tan(fov / 2) * np.asarray([W / H, 1.0])
    x, y = np.clip(p[:2] / p[2], -side, side)
    slope = np.asarray([[1, 0, 0], [0, 1, 0]]) * focal / p[2] - np.outer(np.stack([x, y]), np.asarray([0, 0, 1])) * focal / p[2]
    cov = slope @ frame @ spread @ frame.T @ slope.T + 0.3 * np.eye(2)
    half = (cov[0, 0] + cov[1, 1]) / 2
    light = x4[i] + (legendre((x0[i] - eye) / np.linalg.norm(x0[i] - eye), x5.shape[1])[:, None] * x5[i]).sum(0)
    mean = focal * p[:2] / p[2] + np.asarray([W / 2, H / 2])
    return p[2], mean, np.linalg.inv(cov), (half + np.maximum(half**2 - np.linalg.det(cov), 0) ** 0.5) ** 0.5 * 3 * reach, np.maximum(light, 0), 1 / (1 + np.exp(-x3[i]))
`.trim(),
  "whole = [i for i in range(x0.shape[0]) if all(bool(np.isfinite(x[i]).all()) for x in xs[:6]) and bool((x2[i] ** 2).sum() > 0)]",
  "flats = [made for made in map(flat, whole) if bool(made[0] > near) and bool(made[0] > 0) and bool(made[0] < far)]",
  "import functools",
  "flats = sorted(flats, key=functools.cmp_to_key(lambda one, other: int(bool(one[0] > other[0])) - int(bool(one[0] < other[0]))))",
  "row, col = np.meshgrid(np.arange(H), np.arange(W), indexing='ij')",
  "places = np.stack([col, row], -1) + 0.5",
  "low = np.stack([col // tile, row // tile], -1) * tile",
  "light, clear, steps, listed = np.zeros((H, W, 3)), np.ones((H, W)), np.zeros((H, W)), np.zeros((H, W))",
  `
for depth, mean, conic, radius, colour, opacity in flats:
    hit = ((mean + radius > low) & (mean - radius < low + tile)).all(-1) & (listed < entries)
    listed = listed + hit
    away = mean - places
    alpha = np.minimum(0.99, opacity * np.exp(-0.5 * np.einsum('hwi,ij,hwj->hw', away, conic, away)))
    drawn = hit & (alpha >= cutoff) & (clear >= least) & (steps < most)
    steps = steps + drawn
    alpha = np.where(drawn, alpha, 0)
    light = light + (alpha * clear)[..., None] * colour
    clear = clear * (1 - alpha)
`.trim(),
  "light = light + clear[..., None] * ground",
  "curve = np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.where(light <= 0.0031308, 1, light) ** (1 / 2.4) - 0.055)",
  "np.concatenate([curve, (1 - clear)[..., None]], -1)",
);
