"""The picture of a search for a width: the criterion and its derivative over the bandwidth, as SVG."""

import math
import os
from html import escape
from os import PathLike
from typing import Any

from . import _mercer

_WIDTH, _HEIGHT = 860, 620
_LEFT, _RIGHT = 96, _WIDTH - 36
_PANELS = ((96, 330), (370, _HEIGHT - 70))
_INK, _SOFT, _GRID = "#1f2933", "#616e7c", "#e4e7eb"
_LINE, _MARK = "#0b5cad", "#c2410c"


def write(result: Any, path: str | PathLike[str]) -> None:
    """Writes the picture, which appears complete or not at all."""
    target = os.fspath(path)
    if not target.lower().endswith(".svg"):
        raise ValueError(f"pictures are written as SVG: the name must end in .svg, but it is {target!r}")
    _mercer.write_text(target, draw(result))


def draw(result: Any) -> str:
    """The picture as text."""
    # What is drawn: a width without a search comes with the value that another criterion has there.
    title = f"{result.measure.capitalize()}, {result.kernel} kernel"
    error = f" ± {2 * result.standard_error:.2g}" if result.standard_error > 0 else ""
    subtitle = (
        f"{result.n_samples} points, {result.method}; criterion {result.criterion}: bandwidth {result.best_bandwidth:.5g}{error}, "
        f"gamma {result.best_gamma:.5g}; {len(result.maxima)} local {'maximum' if len(result.maxima) == 1 else 'maxima'}"
    )
    # Given bandwidths may come in any order; a curve is drawn from left to right.
    order = sorted(range(len(result.bandwidths)), key=lambda index: result.bandwidths[index])
    logs = [math.log10(result.bandwidths[index]) for index in order]
    low, high = min(logs), max(logs)
    # Half a decade on either side of a bandwidth that is alone.
    room = 0.04 * (high - low) if high - low >= 1e-9 else 0.5
    low, high = low - room, high + room

    def place(log: float) -> float:
        return _LEFT + (log - low) / (high - low) * (_RIGHT - _LEFT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _text(_LEFT, 40, title, size=22, weight="bold"),
        _text(_LEFT, 64, subtitle, color=_SOFT),
    ]
    names = (result.measure, "derivative by the bandwidth")
    for (top, bottom), name, values in zip(_PANELS, names, (result.values, result.gradients), strict=True):
        parts += _panel(top, bottom, name, logs, [float(values[index]) for index in order], place)
    bottom = _PANELS[-1][1]
    for log in _round_logs(low, high):
        label = f"{10**log:.3g}"
        parts.append(_text(place(log), bottom + 20, label, color=_SOFT, anchor="middle"))
    parts.append(_text((_LEFT + _RIGHT) / 2, _HEIGHT - 20, "bandwidth (logarithmic)", anchor="middle"))
    for bandwidth in sorted({*result.maxima, result.best_bandwidth}):
        x = place(math.log10(bandwidth))
        best = bandwidth == result.best_bandwidth
        width = 2 if best else 1
        parts.append(
            f'<line x1="{x:.2f}" y1="{_PANELS[0][0]}" x2="{x:.2f}" y2="{bottom}" stroke="{_MARK}" stroke-width="{width}" '
            'stroke-dasharray="5 4"/>'
        )
        if best:
            parts.append(_text(x, _PANELS[0][0] - 6, f"{bandwidth:.4g}", color=_MARK, weight="bold", anchor="middle"))
    return "\n".join([*parts, "</svg>", ""])


def _panel(top: int, bottom: int, name: str, logs: list[float], values: list[float], place: Any) -> list[str]:
    finite = [value for value in values if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    largest = max(abs(low), abs(high))
    # Values that are all equal get an axis of their own size.
    room = 0.05 * (high - low) if high - low > 1e-12 * largest else 0.5 * (largest or 1.0)
    low, high = low - room, high + room

    def level(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    parts = []
    for tick in _ticks(low, high) if finite else []:
        y = level(tick)
        parts.append(f'<line x1="{_LEFT}" y1="{y:.2f}" x2="{_RIGHT}" y2="{y:.2f}" stroke="{_GRID}"/>')
        parts.append(_text(_LEFT - 8, y + 4.5, f"{tick:.4g}", color=_SOFT, anchor="end"))
    points = [(place(x), level(y)) for x, y in zip(logs, values, strict=True) if math.isfinite(y)]
    if len(points) == 1:  # A line through one point is nothing.
        parts.append(f'<circle cx="{points[0][0]:.2f}" cy="{points[0][1]:.2f}" r="5" fill="{_LINE}"/>')
    elif points:
        path = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_LINE}" stroke-width="2.5" stroke-linejoin="round"/>')
    else:
        parts.append(_text((_LEFT + _RIGHT) / 2, (top + bottom) / 2, "not known for this criterion", anchor="middle"))
    middle = (top + bottom) / 2
    parts.append(
        f'<text x="20" y="{middle}" font-size="14" fill="{_LINE}" text-anchor="middle" '
        f'transform="rotate(-90 20 {middle})">{escape(name)}</text>'
    )
    return parts


def _text(x: float, y: float, text: str, *, size: int = 13, color: str = _INK, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size}" fill="{color}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _ticks(low: float, high: float) -> list[float]:
    step = _round_step((high - low) / 4)
    return [count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if step <= factor * power * (1 + 1e-9))


def _round_logs(low: float, high: float) -> list[float]:
    """Logarithms of round numbers: 1, 2 and 5 times powers of ten, fewer if they would be crowded."""
    factors = (1, 2, 5) if high - low < 2.5 else (1,)
    every = max(1, math.ceil((high - low) / 10))
    powers = range(math.floor(low), math.ceil(high) + 1)
    logs = [power + math.log10(factor) for power in powers if power % every == 0 for factor in factors]
    return [log for log in logs if low - 1e-9 <= log <= high + 1e-9]
