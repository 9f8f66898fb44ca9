# Copyright 2026 The oxygen_ros Authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Drawings of the evaluation page as inline SVG: lines over a grid, strips of states, bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
import math

import numpy as np

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 720, 56, 10, 8, 22
NAME_HEIGHT = 16                 # of the name of an axis
CHARACTER_WIDTH = 6.5            # of a name in a strip, at most
MAX_POINTS = 500                 # per line; more cannot be seen


@dataclass(frozen=True)
class Line:
    """One line of a chart; nan breaks it."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str                   # CSS class


def line_chart(lines: Sequence[Line], *, width: int = WIDTH, height: int = 150,
               x_unit: str = 's', y_from_zero: bool = False, label: str = '', x_name: str = '',
               y_name: str = '') -> str:
    """Return a chart of lines that share their axes; '' without any point."""
    points = [(np.asarray(line.x, float), np.asarray(line.y, float)) for line in lines]
    all_x = np.concatenate([x for x, _ in points] or [np.zeros(0)])
    all_y = np.concatenate([y[np.isfinite(y)] for _, y in points] or [np.zeros(0)])
    if not len(all_x) or not len(all_y):
        return ''
    x_axis = _Axis(float(all_x.min()), float(all_x.max()), LEFT, width - RIGHT)
    low, high = min(float(all_y.min()), 0.0 if y_from_zero else math.inf), float(all_y.max())
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    bottom = height - BOTTOM - (NAME_HEIGHT if x_name else 0)
    y_axis = _Axis(low - (0 if y_from_zero else margin), high + margin, bottom, TOP)
    parts = [_grid(x_axis, y_axis, bottom, x_unit)]
    if x_name:
        parts.append(f'<text class="tick" x="{(LEFT + x_axis.last) / 2:.0f}" y="{height - 4}" '
                     f'text-anchor="middle">{escape(x_name)}</text>')
    if y_name:
        middle = (bottom + TOP) / 2
        parts.append(f'<text class="tick" transform="rotate(-90 12 {middle:.0f})" x="12" '
                     f'y="{middle:.0f}" text-anchor="middle">{escape(y_name)}</text>')
    parts += [_path(line, x_axis, y_axis) for line in lines]
    return _svg(height, parts, label, width=width)


def strip(spans: Sequence[tuple[float, float, str, str]], *, end: float, label: str = '',
          is_named: bool = False) -> str:
    """
    Return a strip of coloured spans (from, to, CSS class, what it says) from 0 to end.

    What a span says is seen under the pointer; is_named writes it into the span too, cut to fit.
    """
    height = 52
    axis = _Axis(0.0, max(end, 1e-9), LEFT, WIDTH - RIGHT)
    parts = [f'<rect class="{style}" x="{axis.at(begin):.1f}" y="4" height="24" '
             f'width="{max(0.6, axis.at(until) - axis.at(begin)):.1f}">'
             f'<title>{escape(text)}</title></rect>' for begin, until, style, text in spans]
    for begin, until, _, text in spans if is_named else ():
        fits = int((axis.at(until) - axis.at(begin) - 8) / CHARACTER_WIDTH)
        shown = text if len(text) <= fits else f'{text[:fits - 1]}…' if fits > 3 else ''
        parts.append(f'<text class="name" x="{axis.at(begin) + 5:.1f}" y="20">{escape(shown)}'
                     f'</text>')
    parts += [f'<text class="tick" x="{axis.at(value):.1f}" y="44" text-anchor="middle">'
              f'{value:g} s</text>' for value in axis.ticks(8)]
    return _svg(height, parts, label)


def bars(counts: Sequence[int], edges: Sequence[float], *, unit: str, label: str = '') -> str:
    """Return a histogram; edges has one entry more than counts."""
    height, highest = 130, max(counts, default=0)
    if not highest:
        return ''
    x_axis = _Axis(float(edges[0]), float(edges[-1]), LEFT, WIDTH - RIGHT)
    y_axis = _Axis(0.0, 1.05 * highest, height - BOTTOM, TOP)
    parts = [_grid(x_axis, y_axis, height - BOTTOM, unit)]
    for count, begin, until in zip(counts, edges, edges[1:]):
        top = y_axis.at(count)
        parts.append(
            f'<rect class="bar" x="{x_axis.at(begin):.1f}" y="{top:.1f}" '
            f'width="{max(0.6, x_axis.at(until) - x_axis.at(begin) - 1):.1f}" '
            f'height="{height - BOTTOM - top:.1f}"><title>{begin:.4g} to {until:.4g} {unit}: '
            f'{count}</title></rect>')
    return _svg(height, parts, label)


class _Axis:
    """Values to pixels, and round values for its marks."""

    def __init__(self, low: float, high: float, first: float, last: float):
        self.low, self.high = low, high if high > low else low + 1.0
        self._first, self.last = first, last

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self._first + share * (self.last - self._first)

    def ticks(self, count: int) -> list[float]:
        raw = (self.high - self.low) / count
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
        first = math.ceil(self.low / step)
        return [round(index * step, 12) for index in
                range(first, math.floor(self.high / step + 1e-9) + 1)]


def _grid(x_axis: _Axis, y_axis: _Axis, bottom: int, x_unit: str) -> str:
    parts = []
    for value in y_axis.ticks(4):
        y = y_axis.at(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{x_axis.last:.0f}" y1="{y:.1f}" '
                     f'y2="{y:.1f}"/><text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" '
                     f'text-anchor="end">{value:.4g}</text>')
    for value in x_axis.ticks(max(2, round(x_axis.last / 90))):
        parts.append(f'<text class="tick" x="{x_axis.at(value):.1f}" y="{bottom + 16}" '
                     f'text-anchor="middle">{value:g} {x_unit}</text>')
    return ''.join(parts)


def _path(line: Line, x_axis: _Axis, y_axis: _Axis) -> str:
    every = max(1, -(-len(line.x) // MAX_POINTS))
    steps, is_drawing = [], False
    for x, y in zip(line.x[::every], line.y[::every]):
        if math.isfinite(y):
            steps.append(f'{"L" if is_drawing else "M"}{x_axis.at(x):.1f} {y_axis.at(y):.1f}')
        is_drawing = math.isfinite(y)
    return (f'<path class="line {line.style}" d="{"".join(steps)}">'
            f'<title>{escape(line.name)}</title></path>')


def _svg(height: int, parts: Sequence[str], label: str, *, width: int = WIDTH) -> str:
    return (f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
            f'{"".join(parts)}</svg>')
