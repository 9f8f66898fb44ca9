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

"""Draws the figures of `oxygen bench`; matplotlib is needed only here."""

from pathlib import Path

from oxygen_ros.config import ConfigError

SUFFIXES = ('.png', '.svg', '.pdf')
PANELS = {'frame_ms_p50': 'frame, ms (bar p50, line to p99)', 'action_ms_p50': 'action, ms',
          'tokens_per_s': 'tokens / s', 'itl_ms_p50': 'gap between tokens, ms'}
COLOURS = {'isolated': '#b0b7c3', 'parallel': '#8a94a6', 'shared': '#6aa0d8', 'oxygen': '#d1495b'}


def check_plot(file: Path) -> None:
    """Raise ConfigError with the remedy if no plot can be drawn; before minutes of measuring."""
    if file.suffix not in SUFFIXES:
        raise ConfigError(f'--plot {file} is no kind of picture known here; end its name in one '
                          f'of {", ".join(SUFFIXES)}')
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ConfigError('--plot needs matplotlib; pip install matplotlib, or leave --plot '
                          'out and use --json') from None


def plot(points: list[dict], file: Path) -> None:
    """Draw one group of bars per grid point, one panel per figure."""
    import matplotlib
    matplotlib.use('Agg')   # a file is written; no window, no display needed
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(5 + 2 * len(points), 7), squeeze=False)
    names = list(points[0]['policies'])
    width = 0.8 / len(names)
    for axis, (key, title) in zip(axes.flat, PANELS.items()):
        for place, name in enumerate(names):
            results = [point['policies'][name] for point in points]
            heights = [result[key] or 0.0 for result in results]
            at = [index + (place - (len(names) - 1) / 2) * width for index in range(len(points))]
            axis.bar(at, heights, width, label=name, color=COLOURS.get(name))
            if key.endswith('_p50'):
                tops = [result[key.replace('_p50', '_p99')] or 0.0 for result in results]
                axis.vlines(at, heights, tops, color='black', linewidth=1)
        axis.set_title(title)
        axis.set_xticks(range(len(points)), [_label(point['setting']) for point in points],
                        fontsize=8)
        axis.set_ylim(bottom=0)
    axes[0][0].legend()
    figure.suptitle(f"oxygen bench, {points[0]['setting']['model']}, "
                    f"{points[0]['setting']['threads']} thread(s)")
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _label(setting: dict) -> str:
    return (f"{setting['tokens']} tokens, {setting['tokens_per_frame']}/frame\n"
            f"{setting['cameras']} cameras, {setting['denoise_steps']} steps, "
            f"{setting['texts']} text(s)")
