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

"""Controller: what the robot is told on each tick, and why."""

import numpy as np
from numpy.typing import NDArray

from oxygen_ros.config import ControlConfig
from oxygen_ros.config import RobotProfile
from oxygen_ros.policy.chunks import ChunkBuffer
from oxygen_ros.policy.fallback import Fallback
from oxygen_ros.policy.limits import Limits
from oxygen_ros.policy.rates import Rates
from oxygen_ros.policy.staleness import JOINTS
from oxygen_ros.policy.staleness import SourceMonitor
from oxygen_ros.types import ActionChunk
from oxygen_ros.types import Cause
from oxygen_ros.types import TickResult
from oxygen_ros.types import Verdict

# Smaller steps back of the node clock are a clock being disciplined, not another time.
_JUMP_NS = 100_000_000
# A node clock that stands still for this long of steady time is a paused simulation.
_CLOCK_STOPPED_S = 0.5


class Controller:
    """
    Chunk buffer, staleness, stop latch, limits and fallback behind one `tick`.

    `tick` and `final_command` belong to one thread at a time (the Ticker's, then whoever stopped
    it). Everything else may be called from any thread: it replaces one reference or one number
    that the next tick reads, so the tick never waits for a lock.
    """

    def __init__(self, profile: RobotProfile, control: ControlConfig, *,
                 rate_hz: float | None = None):
        rate_hz = profile.control_rate_hz if rate_hz is None else rate_hz
        self.limits = Limits(profile, rate_hz=rate_hz, mode=control.limit_mode)
        self.chunks = ChunkBuffer(len(profile.joints), control)
        self.sources = SourceMonitor(profile)
        self._rate_hz = rate_hz
        self._rates = Rates(profile, rate_hz=rate_hz)
        self._fallback = Fallback(control, rate_hz=rate_hz, is_rate=self._rates.mask)
        self._max_still_ticks = max(1, round(_CLOCK_STOPPED_S * rate_hz))
        # Written by any thread, each as one reference:
        self._activation = (0, False)  # (number of the activation, whether it is in force)
        self._measured: NDArray[np.float64] | None = None
        self._stop_reason: str | None = None
        self._engine_cause = Cause.NONE
        self._control = control
        self._state_fault = ''       # of the newest joint states
        self.num_refused_states = 0  # joint states not used: of the wrong size or not true
        # Owned by the tick thread:
        self._ticked_activation = 0
        self._ticked_control = control
        self._is_silent = False      # the fallback `none` runs: nothing is sent
        self._last: NDArray[np.float64] | None = None       # last command of this activation
        self._last_step: NDArray[np.float64] | None = None  # from the command before to the last
        self._last_index = -1
        self._last_now_ns = 0
        self._num_still_ticks = 0
        self._is_joining = True      # on the way to the actions after a start, fallback or stall
        self._rejected_frame_id = 0  # its chunk broke a limit: the rest of it is not tried
        self.num_clock_jumps = 0     # backwards; each dropped every chunk once

    # From the engine, the sensors and the operator

    def add_chunk(self, chunk: ActionChunk) -> bool:
        """Take a chunk over; False if it is not usable (counted in `chunks.refused`)."""
        return self.chunks.add(chunk)

    def measured(self, positions, stamp_ns: int, now_ns: int) -> bool:
        """
        Note measured joint positions in profile order, arriving at now_ns on the node clock.

        False if they are not usable: the state keeps its previous value and its age.
        """
        positions = np.array(positions, np.float64)
        fault = self.limits.fault_of_state(positions)
        if fault:
            self.num_refused_states += 1
            self._state_fault = fault
            return False
        self._measured = positions
        self._state_fault = ''
        self.sources.seen(JOINTS, stamp_ns, now_ns)
        return True

    def seen(self, source: str, stamp_ns: int, now_ns: int) -> None:
        """Note a picture of camera slot `source`, arriving at now_ns on the node clock."""
        if source == JOINTS:
            raise ValueError('joint states are reported with measured(), which checks them')
        self.sources.seen(source, stamp_ns, now_ns)

    def engine_state(self, alive: bool, cause: Cause = Cause.NONE) -> None:
        """Note whether the engine runs; a dead or hung one means fallback from the next tick."""
        if alive:
            self._engine_cause = Cause.NONE
        else:
            self._engine_cause = Cause.ENGINE_DEAD if cause is Cause.NONE else cause
            self.chunks.clear()

    def invalidate(self, epoch: int) -> None:
        """Drop what was planned before; only chunks of this epoch count from now on."""
        self.chunks.invalidate(epoch)

    def change(self, control: ControlConfig) -> None:
        """
        Behave differently from the next tick on, also in the middle of a motion.

        A running fallback begins anew. The priority belongs to the ticker and is not looked at.
        """
        self._control = control

    def stop(self, reason: str = 'requested') -> None:
        """Latch a stop; the first reason is kept until resume."""
        if self._stop_reason is None:
            self._stop_reason = reason
        self.chunks.clear()

    def resume(self) -> None:
        """Release the stop; the robot moves again with the next chunk."""
        self.chunks.clear()
        self._stop_reason = None

    @property
    def stop_reason(self) -> str | None:
        """Return why the robot is stopped, None if it is not."""
        return self._stop_reason

    def activate(self) -> None:
        """Allow motion, starting from the measured state. A latched stop stays latched."""
        self.chunks.clear()
        self._activation = (self._activation[0] + 1, True)

    def deactivate(self) -> None:
        """Forbid motion; nothing is sent any more but `final_command`."""
        self._activation = (self._activation[0], False)
        self.chunks.clear()

    def describe(self, cause: Cause, now_ns: int) -> str:
        """Say in words what is behind a cause, for status texts; '' if there is no more to say."""
        if cause is Cause.STOP_REQUESTED:
            return f'stopped: {self._stop_reason}'
        if cause is Cause.LIMIT:
            return self.limits.describe()
        if cause in (Cause.JOINTS_STALE, Cause.CAMERA_STALE, Cause.CAMERA_FROZEN):
            source = self.sources.stale_source(now_ns)
            texts = ['' if source is None else self.sources.describe(source, now_ns)]
            if source == JOINTS and self._state_fault:
                texts.append(f'the newest are refused: {self._state_fault}')
            return '; '.join(texts)
        return ''

    # The tick thread

    def tick(self, now_ns: int, index: int, lateness_ns: int = 0) -> TickResult:
        """Decide the command of grid point `index`, at now_ns on the node clock."""
        number, is_active = self._activation
        if number != self._ticked_activation:
            self._start(number)
        if self._control is not self._ticked_control:
            self._adopt(self._control)
        if self._last_index >= 0 and index > self._last_index + 1:
            self._is_joining = True
        cause = self._clock_trouble(now_ns, index)
        self._last_index = index
        if not is_active:
            return TickResult(index, None, Verdict.STOPPED, Cause.INACTIVE, 0, lateness_ns)
        if self._stop_reason is not None:
            return self._fall_back(Cause.STOP_REQUESTED, now_ns, index, lateness_ns)
        cause = cause or self._engine_cause or self._source_trouble(now_ns)
        if cause:
            return self._fall_back(cause, now_ns, index, lateness_ns)
        return self._act(now_ns, index, lateness_ns)

    def final_command(self) -> NDArray[np.float64] | None:
        """
        Return what to send last, after the tick thread has ended; None if nothing is to be sent.

        Nothing was ever commanded: nothing is sent, for there is no motion to end.
        """
        return None if self._last is None else self._fallback_command()

    def _start(self, number: int) -> None:
        self._ticked_activation = number
        self._last = self._last_step = None
        self._last_index = -1
        self._is_joining = True
        self._rejected_frame_id = 0
        self._is_silent = False
        self._fallback.end()
        self.chunks.leave()

    def _adopt(self, control: ControlConfig) -> None:
        self._ticked_control = control
        self._fallback = Fallback(control, rate_hz=self._rate_hz, is_rate=self._rates.mask)
        self.limits.mode = control.limit_mode
        self.chunks.adopt(control)
        # What `clamp` still had to catch up on is no fault of the next action under `reject`.
        self._is_joining = True

    def _clock_trouble(self, now_ns: int, index: int) -> Cause:
        """Follow the node clock; after a jump backwards every chunk is one of another time."""
        if now_ns < self._last_now_ns - _JUMP_NS:
            self.chunks.void()
            self.num_clock_jumps += 1
        if now_ns != self._last_now_ns:
            self._num_still_ticks = 0
        elif self._last_index >= 0:
            self._num_still_ticks += max(1, index - self._last_index)
        self._last_now_ns = now_ns
        stopped = now_ns <= 0 or self._num_still_ticks >= self._max_still_ticks
        return Cause.WAITING_FOR_CLOCK if stopped else Cause.NONE

    def _source_trouble(self, now_ns: int) -> Cause:
        source = self.sources.stale_source(now_ns)
        return Cause.NONE if source is None else self.sources.cause(source, now_ns)

    def _act(self, now_ns: int, index: int, lateness_ns: int) -> TickResult:
        due = self.chunks.at(now_ns)
        if due is None:
            return self._fall_back(self.chunks.missing(), now_ns, index, lateness_ns)
        action, chunk, is_newest = due
        if chunk.frame_id == self._rejected_frame_id:
            return self._fall_back(Cause.LIMIT, now_ns, index, lateness_ns)
        reference, is_first = self._reference()
        if self._rates.is_used:
            ahead = reference + self.chunks.step(chunk, now_ns, 1 / self._rate_hz)
            action = np.where(self._rates.mask, ahead, action)
        command, num_clamped, cause = self.limits.apply(
            action, reference, first=is_first, joining=self._is_joining)
        if command is None:
            self._rejected_frame_id = chunk.frame_id
            return self._fall_back(cause, now_ns, index, lateness_ns)
        self._is_joining = self._is_joining and num_clamped > 0
        self._fallback.end()
        wire = self._sent(command, reference, is_first)
        verdict = Verdict.FRESH if is_newest else Verdict.CARRIED
        return TickResult(index, wire, verdict, Cause.NONE, chunk.frame_id, lateness_ns,
                          num_clamped)

    def _fall_back(self, cause: Cause, now_ns: int, index: int, lateness_ns: int) -> TickResult:
        self.chunks.leave()
        self._is_joining = True
        command = None
        # A message stamped zero or a start from a state long gone would be worse than silence.
        if now_ns > 0 and (self._last is not None or self.sources.is_fresh(JOINTS, now_ns)):
            command = self._fallback_command()
        verdict = Verdict.STOPPED if cause is Cause.STOP_REQUESTED else Verdict.FALLBACK
        return TickResult(index, command, verdict, cause, 0, lateness_ns)

    def _fallback_command(self) -> NDArray[np.float64] | None:
        if not self._fallback.is_running:
            self._fallback.begin(self._measured, self._last, self._last_step)
        reference, is_first = self._reference()
        target = self._fallback.target(reference)
        if target is None:
            self._is_silent = True
            return None
        command = self.limits.toward(target, reference, first=is_first)
        if self._rates.is_used:
            # Standing still is safe everywhere: no rate leads back inside the limits by itself.
            command = np.where(self._rates.mask & (target == reference), reference, command)
        return self._sent(command, reference, is_first)

    def _reference(self) -> tuple[NDArray[np.float64], bool]:
        """
        Return where the next step starts, and whether that is the measured state.

        While nothing is sent (fallback none) the robot may have been moved by other means: then
        the last command is no place to go on from.
        """
        if self._last is None:
            return self._measured, True
        if self._is_silent and np.abs(self._last - self._measured).max() > self.limits.start_jump:
            return self._measured, True
        return self._rates.reference(self._last, self._measured), False

    def _sent(self, command: NDArray[np.float64], reference: NDArray[np.float64],
              is_first: bool) -> NDArray[np.float64]:
        """Note a command; return the form it takes on the wire."""
        command.flags.writeable = False  # the next step starts from it, whoever reads it meanwhile
        self._last_step = None if is_first else command - reference
        self._last = command
        self._is_silent = False
        return self._rates.wire(command, reference)
