"""Searches the colors of classes in src/palette/builtin.rs. Needs numpy; takes about a minute.

The smallest difference between two colors is made as large as possible, for normal vision and for protanopia, deuteranopia and tritanopia
(Machado, Oliveira and Fernandes 2009), on a light and on a dark background. Differences are distances in OKLab; those of deficient vision count
more, because they are smaller. The first ten colors were the best of three searches within a narrow range of lightness and chroma, of
which the cyan was then made paler by hand; ten and forty more are added to them within wider ranges, the forty with a bound on the contrast with
white.
"""

from __future__ import annotations

import numpy as np

FIRST = ["348ff9", "eeb32a", "b62b66", "7541b8", "849c00", "fe7574", "116d8a", "45c8e8", "895612", "ba6bc6"]
TO_LMS = np.array([[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.6806995, 0.10739696], [0.08830246, 0.28171884, 0.6299787]])
TO_LAB = np.array([[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099], [0.0259040371, 0.7827717662, -0.808675766]])
VISION = [
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
]
WEIGHTS = [1.0, 1.9, 1.9, 1.6] * 2
#: The gray of classes without a color, from which the others should differ too.
GRAY = [0.80, 0.0, 0.0]
#: Smallest contrast with white, as WCAG defines it: paler points are lost on a white page.
CONTRAST = 1.6


def to_lab(linear: np.ndarray) -> np.ndarray:
    return np.cbrt(linear @ TO_LMS.T) @ TO_LAB.T


def from_lab(lab: np.ndarray) -> np.ndarray:
    return ((lab @ np.linalg.inv(TO_LAB).T) ** 3) @ np.linalg.inv(TO_LMS).T


def on_dark(linear: np.ndarray) -> np.ndarray:
    """Return the colors on a dark background, as `Palette::on` does."""
    lab = to_lab(linear)
    lab[:, 0] = 0.08 + 0.94 * lab[:, 0]
    return np.clip(from_lab(lab), 0, 1)


def views(linear: np.ndarray) -> list[np.ndarray]:
    return [to_lab(np.clip(colors @ vision.T, 0, 1)) for colors in (linear, on_dark(linear)) for vision in VISION]


def difference(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
    return np.min([w * np.linalg.norm(x[:, None] - y[None], axis=-1) for w, x, y in zip(WEIGHTS, a, b)], axis=0)


def candidates(lightness: tuple[float, float], chroma: tuple[float, float], steps: tuple[int, int, int]) -> np.ndarray:
    """Return the displayable colors of a grid in lightness, chroma and hue."""
    grid = np.meshgrid(np.linspace(*lightness, steps[0]), np.linspace(*chroma, steps[1]), 2 * np.pi * np.arange(steps[2]) / steps[2], indexing="ij")
    light, strong, hue = (axis.ravel() for axis in grid)
    linear = from_lab(np.column_stack([light, strong * np.cos(hue), strong * np.sin(hue)]))
    return np.clip(linear[((linear > -1e-4) & (linear < 1.0001)).all(axis=1)], 0, 1)


def dark_enough(linear: np.ndarray) -> np.ndarray:
    """Return the colors that stand out from white."""
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    return linear[1.05 / (luminance + 0.05) > CONTRAST]


def grow(base: np.ndarray, count: int, colors: np.ndarray, starts: int) -> np.ndarray:
    """Return the base with more colors, exchanged one by one while the softened smallest difference grows; the most different come first."""
    rng, seen = np.random.default_rng(0), views(colors)
    fixed = difference(seen, views(np.vstack([base, np.clip(from_lab(np.array([GRAY])), 0, 1)])))
    fixed[:, -1] *= 1.15
    best, chosen = -1.0, []
    for _ in range(starts):
        picked = list(rng.choice(len(colors), count, replace=False))
        to_picked = np.column_stack([difference(seen, [view[[at]] for view in seen]) for at in picked])
        for _ in range(12):
            before = list(picked)
            for slot in range(count):
                others = np.hstack([np.delete(to_picked, slot, axis=1), fixed])
                at = int(np.argmax(-np.log(np.exp(-others / 0.008).sum(axis=1))))
                if at != picked[slot]:
                    picked[slot] = at
                    to_picked[:, slot] = difference(seen, [view[[at]] for view in seen])[:, 0]
            if picked == before:
                break
        among = to_picked[picked].copy()
        np.fill_diagonal(among, 9)
        quality = min(among.min(), fixed[picked].min())
        if quality > best:
            best, chosen = quality, list(picked)
    every = np.vstack([base, colors[chosen]])
    apart, order, left = difference(views(every), views(every)), list(range(len(base))), list(range(len(base), len(every)))
    while left:
        order.append(max(left, key=lambda at: min(apart[at][other] for other in order)))
        left.remove(order[-1])
    return every[order]


def main() -> None:
    srgb = np.array([[int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)] for color in FIRST])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    twenty = grow(linear, 10, candidates((0.42, 0.86), (0.05, 0.19), (12, 7, 36)), starts=8)
    sixty = grow(twenty, 40, dark_enough(candidates((0.36, 0.90), (0.02, 0.22), (13, 7, 36))), starts=6)
    for count in (10, 20, 60):
        for name, colors in (("light", sixty[:count]), ("dark", on_dark(sixty[:count]))):
            seen = [to_lab(np.clip(colors @ vision.T, 0, 1)) for vision in VISION]
            apart = [np.linalg.norm(view[:, None] - view[None], axis=-1) + 9 * np.eye(count) for view in seen]
            print(count, name, [round(float(each.min()), 4) for each in apart])
    shown = np.where(sixty <= 0.0031308, 12.92 * sixty, 1.055 * sixty ** (1 / 2.4) - 0.055)
    print(["0x%02x%02x%02x" % tuple(round(255 * value) for value in color) for color in shown])


if __name__ == "__main__":
    main()
