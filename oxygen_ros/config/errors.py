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

"""The one error of configuration, and the checks that raise it."""

import math


class ConfigError(ValueError):
    """A configured value cannot be used; the message names it and the remedy."""


def require_range(name: str, value: float, low: float, high: float, unit: str = '') -> None:
    """Raise ConfigError unless value is a finite number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f'{name} is {value!r}; give a number from {low:g} to {high:g} {unit}')
    if not math.isfinite(value) or not low <= value <= high:
        raise ConfigError(f'{name} is {value:g}; give a number from {low:g} to {high:g} {unit}')


def require_whole(name: str, value: object, low: int, high: int, unit: str = '') -> None:
    """Raise ConfigError unless value is a whole number in [low, high]."""
    require_range(name, value, low, high, unit)
    if not isinstance(value, int):
        raise ConfigError(f'{name} is {value!r}; give a whole number')


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ConfigError unless value is one of choices."""
    if value not in choices:
        raise ConfigError(f'{name} is {value!r}; choose one of: {", ".join(map(str, choices))}')


def require_keys(where: str, data: dict, known: tuple[str, ...]) -> None:
    """Raise ConfigError for a key that is not known: a typo must not be ignored silently."""
    if not isinstance(data, dict):
        raise ConfigError(f'{where} is {data!r}; it must be a mapping')
    unknown = sorted(str(key) for key in data if key not in known)
    if unknown:
        raise ConfigError(f'{where} has unknown key {unknown[0]!r}; known: {", ".join(known)}')
