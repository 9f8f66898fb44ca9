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

"""
Decides when action work starts and which texts take part in the next decode step.

Pure logic: the caller passes every time in, on one steady clock; nothing here waits, knows
torch or looks at a clock. Actions are hard, text is soft. Under load, in this order:

1. stale observations are dropped (the mailbox keeps the newest; not done here),
2. text is slowed down and finally expires, lowest priority first,
3. an action is never delayed for text.

The guarantee that follows is explained in doc/explanation/scheduling.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from itertools import accumulate
import math

from oxygen_ros.config import SchedulerConfig
from oxygen_ros.engine.costs import CostModel
from oxygen_ros.engine.rhythm import Rhythm
from oxygen_ros.engine.rhythm import TextView
from oxygen_ros.engine.rhythm import Window

# Every so many frames the costs of step sizes not seen lately are aged, or one hiccup could keep
# a text waiting for ever.
AGE_FRAMES = 20
# Share of paced tokens that may be more than a period late before the rates count as not met.
MISSED_SHARE = 0.05
# A start this share of a period late still counts for the old grid, so that jitter of the
# wake-up does not lower the rate; a later one starts a new grid, so that nothing catches up.
GRID_SHARE = 0.5


@dataclass(frozen=True)
class SchedulerReport:
    """What the scheduler promises on this machine now, and whether the rates are met."""

    rates_met: bool
    detail: str               # what cannot be met and the remedy; '' if all is met
    blocking_bound_s: float   # longest a due observation waits for text: one decode step
    response_bound_s: float   # due observation to chunk: blocking + encode + denoise
    frame_s: float            # encode + denoise
    itl_p50_s: float          # inter-token gaps of recent tokens
    itl_p99_s: float
    decode_steps: int         # planned since start


def step_rows(texts: Sequence[TextView], request_ids: Sequence[str]) -> int:
    """Return the rows of one step: a token per text, or its whole prompt suffix if not yet run."""
    chosen = set(request_ids)
    return sum(max(1, text.prompt_tokens_left) for text in texts if text.request_id in chosen)


class Scheduler:
    """
    Plans one engine thread: action work on a grid, decode steps in the time between.

    Call order per cycle: begin_frame, (encode, denoise), end_actions, then plan_decode before
    each decode step. Durations go to `costs`, for 'decode' with batch=step_rows(...).
    """

    def __init__(self, config: SchedulerConfig, costs: CostModel):
        self._config = config
        self._costs = costs
        self._rhythm = Rhythm()
        self._period_s = 1.0 / config.replan_hz
        self._next_frame_s = -math.inf
        self._window_s = 0.0           # length of the last window for text
        self._steps = 0
        self._steps_this_frame = 0
        self._kept_waiting = False     # text waited in this cycle for a prediction alone
        self._starved_cycles = 0       # in a row
        self._frames = 0
        self._shortest_step_s = 0.0    # of the text that waits

    def set_replan_rate(self, replan_hz: float) -> None:
        """Plan for another rate, from the frame that is due next."""
        self._config = replace(self._config, replan_hz=replan_hz)
        shorter_s = max(0.0, self._period_s - 1.0 / replan_hz)
        self._next_frame_s -= shorter_s
        self._period_s = 1.0 / replan_hz

    def next_frame_s(self, now_s: float) -> float:
        """Return when action work may start next; now_s or earlier: with the next observation."""
        return now_s if self._config.steps_per_frame else self._next_frame_s

    def forget_rhythm(self) -> None:
        """Let the next observation start at once and begin a new rhythm, as after a reset."""
        self._next_frame_s = -math.inf

    def begin_frame(self, now_s: float) -> None:
        """Note that action work starts; sets the grid time of the next."""
        on_grid = 0.0 <= now_s - self._next_frame_s <= GRID_SHARE * self._period_s
        self._next_frame_s = (self._next_frame_s if on_grid else now_s) + self._period_s
        self._count_starved()
        self._steps_this_frame = 0
        self._frames += 1
        if self._frames % AGE_FRAMES == 0:
            self._costs.age('decode')

    def end_actions(self, now_s: float) -> None:
        """Note that the chunk has left; the rest of the cycle belongs to text."""
        self._window_s = self._next_frame_s - self._config.margin_s - now_s

    def plan_decode(self, now_s: float, texts: Sequence[TextView],
                    *, observation_waiting: bool = False) -> tuple[str, ...]:
        """
        Return the request ids to run in one decode step now; () = none now.

        An observation that waits before next_frame_s() does not stop text, it only gets older;
        from that time on it stops text at once. Without one text goes on step by step, so an
        observation that arrives then waits for one step at most.
        """
        self._rhythm.update(texts)
        if self._config.steps_per_frame:
            return self._plan_fixed(now_s, texts)
        if observation_waiting and now_s >= self._next_frame_s:
            return ()
        window = self._window(now_s)
        time_left_s = window.closes_s - now_s
        ready = self._in_order(now_s, texts, window)
        fitting = [text for text in ready if self._cost_s(text) <= time_left_s]
        if ready and not fitting:
            self._kept_waiting = True
            self._shortest_step_s = self._cost_s(ready[0])
        return self._start(self._most_that_fit(fitting[:self._config.max_batch], time_left_s))

    def next_decode_s(self, now_s: float, texts: Sequence[TextView]) -> float | None:
        """
        Return when plan_decode is worth calling again; None = not before a text changes.

        Lets the caller sleep between the tokens of paced texts. Never after the next frame.
        """
        if not texts:
            return None
        window = self._window(now_s)
        soonest_s = self._next_frame_s if now_s < self._next_frame_s else math.inf
        for text in texts:
            run_at_s = max(now_s, self._run_at_s(text, now_s, window))
            if run_at_s + self._cost_s(text) <= window.closes_s:
                soonest_s = min(soonest_s, run_at_s)
        return soonest_s

    def expired(self, now_s: float, texts: Sequence[TextView]) -> tuple[str, ...]:
        """Return the request ids whose time is over, lowest priority first."""
        over = [text for text in texts if text.expires_s is not None and text.expires_s <= now_s]
        over.sort(key=lambda text: (text.priority, text.expires_s))
        return tuple(text.request_id for text in over)

    def report(self) -> SchedulerReport:
        """Return bounds from the measured quantiles, and what cannot be met."""
        frame_s = self._costs.predict_s('encode') + self._costs.predict_s('denoise')
        blocking_s = self._costs.worst_s('decode')
        detail = '; '.join(self._complaints(frame_s))
        return SchedulerReport(
            rates_met=not detail, detail=detail, blocking_bound_s=blocking_s,
            response_bound_s=blocking_s + frame_s, frame_s=frame_s,
            itl_p50_s=self._rhythm.gap_s(0.5), itl_p99_s=self._rhythm.gap_s(0.99),
            decode_steps=self._steps)

    def _window(self, now_s: float) -> Window:
        frame_s = self._costs.predict_s('encode') + self._costs.predict_s('denoise')
        closes_s = self._next_frame_s - self._config.margin_s
        if now_s >= self._next_frame_s:   # due, but nothing to look at: one step at a time
            closes_s = math.inf
        return Window(closes_s=closes_s, reopens_s=self._next_frame_s + frame_s,
                      slack_s=self._config.margin_s)

    def _in_order(self, now_s: float, texts: Sequence[TextView], window: Window):
        """Return the texts that may run now: by priority, then paced ones, then the oldest."""
        order = []
        nothing_due = True
        num_rows = max(1, min(len(texts), self._config.max_batch))
        step_s = self._costs.predict_s('decode', batch=num_rows)
        for index, text in enumerate(texts):
            if text.expires_s is not None and text.expires_s <= now_s:
                continue
            run_at_s = self._run_at_s(text, now_s, window)
            if run_at_s <= now_s:
                nothing_due = False
            # A paced text wanted before this step ends joins it, else it would wait for the next.
            elif text.earliest_s > now_s or run_at_s > now_s + step_s:
                continue
            paced = text.target_tokens_per_s is not None
            order.append((-text.priority, not paced, run_at_s, text.submitted_s, index, text))
        return [] if nothing_due else [entry[-1] for entry in sorted(order)]

    def _most_that_fit(self, ready: list[TextView], time_left_s: float) -> list[TextView]:
        """Return the longest head of the list whose step fits."""
        rows = list(accumulate(max(1, text.prompt_tokens_left) for text in ready))
        for count in range(len(ready), 1, -1):
            if self._costs.predict_s('decode', batch=rows[count - 1]) <= time_left_s:
                return ready[:count]
        return ready[:1]

    def _run_at_s(self, text: TextView, now_s: float, window: Window) -> float:
        if text.target_tokens_per_s is None:
            return now_s
        return self._rhythm.run_at_s(text, cost_s=self._cost_s(text), window=window)

    def _cost_s(self, text: TextView) -> float:
        return self._costs.predict_s('decode', batch=max(1, text.prompt_tokens_left))

    def _plan_fixed(self, now_s: float, texts: Sequence[TextView]) -> tuple[str, ...]:
        """Run every text, the same number of steps per frame; for benchmarks."""
        if self._steps_this_frame >= self._config.steps_per_frame:
            return ()
        alive = [text for text in texts if text.expires_s is None or text.expires_s > now_s]
        alive.sort(key=lambda text: (-text.priority, text.submitted_s))
        return self._start(alive[:self._config.max_batch])

    def _start(self, chosen: list[TextView]) -> tuple[str, ...]:
        if chosen:
            self._steps += 1
            self._steps_this_frame += 1
        return tuple(text.request_id for text in chosen)

    def _count_starved(self) -> None:
        starved = self._kept_waiting and not self._steps_this_frame and self._window_s > 0
        self._starved_cycles = self._starved_cycles + 1 if starved else 0
        self._kept_waiting = False

    def _complaints(self, frame_s: float) -> list[str]:
        complaints = []
        if frame_s > self._period_s:
            complaints.append(
                f'replan_hz {self._config.replan_hz:g} cannot be met: encoding and denoising '
                f'take {1e3 * frame_s:.1f} ms; set replan_hz to {0.95 / frame_s:.2g} or lower, '
                f'less if texts should run')
        elif self._starved_cycles >= 2:
            needed_s = frame_s + self._shortest_step_s + self._config.margin_s
            complaints.append(
                f'texts get no time: one decode step takes {1e3 * self._shortest_step_s:.1f} ms, '
                f'a cycle leaves {1e3 * max(0.0, self._window_s):.1f} ms; set replan_hz to '
                f'{0.95 / needed_s:.2g} or lower')
        if self._rhythm.missed_share() > MISSED_SHARE:
            complaints.append(
                f'target rates of texts cannot be met: {100 * self._rhythm.missed_share():.0f} % '
                f'of their tokens come more than one period late; run fewer texts, lower their '
                f'tokens_per_s or replan_hz')
        return complaints
