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

"""The cost model: high quantiles per size, blind to one outlier, quick on a lasting change."""

import json

import pytest

from oxygen_ros.engine.costs import CostModel


def test_few_samples_predict_their_maximum_and_many_their_quantile():
    """Caution first: p95 of five is the longest; of 64 it ignores the three longest."""
    costs = CostModel(0.95)
    for duration_s in (0.010, 0.011, 0.010, 0.011, 0.013):
        costs.record('encode', duration_s)
    assert costs.predict_s('encode') == 0.013
    for _ in range(60):
        costs.record('encode', 0.010)
    assert costs.predict_s('encode') == pytest.approx(0.010, abs=0.0011)


def test_one_hiccup_among_many_does_not_move_the_prediction():
    """A step that took a second is an outlier, not the new cost."""
    costs = CostModel(0.95)
    for _ in range(64):
        costs.record('decode', 0.005, batch=4)
    costs.record('decode', 1.0, batch=4)
    assert costs.predict_s('decode', batch=4) == 0.005


def test_a_lasting_slow_down_is_believed_after_three_steps_for_every_size():
    """Sizes not seen since the change must not be predicted from before it."""
    costs = CostModel(0.95)
    for batch, duration_s in ((1, 0.004), (4, 0.005), (16, 0.008)):
        for _ in range(64):
            costs.record('decode', duration_s, batch=batch)
    for _ in range(3):
        costs.record('decode', 0.020, batch=4)
    assert costs.predict_s('decode', batch=4) == 0.020
    assert costs.predict_s('decode', batch=1) >= 0.020
    assert costs.predict_s('decode', batch=16) >= 0.020


def test_a_lasting_speed_up_is_learned_as_well():
    """After one history of faster steps the old ones are gone."""
    costs = CostModel(0.95)
    for _ in range(64):
        costs.record('decode', 0.020, batch=2)
    for _ in range(64):
        costs.record('decode', 0.005, batch=2)
    assert costs.predict_s('decode', batch=2) == 0.005


def test_unseen_sizes_lie_between_their_neighbours():
    """Linear inside, in proportion above, the smallest known below; 0 with no data at all."""
    costs = CostModel(0.95)
    assert costs.predict_s('decode', batch=5) == 0.0
    costs.record('decode', 0.010, batch=4)
    costs.record('decode', 0.022, batch=16)
    assert costs.predict_s('decode', batch=8) == pytest.approx(0.014)
    assert costs.predict_s('decode', batch=1) == 0.010
    assert costs.predict_s('decode', batch=32) == pytest.approx(0.044)
    assert costs.worst_s('decode') == 0.022


def test_a_size_avoided_for_one_hiccup_is_tried_again():
    """Aging drops the outlier of a size that is not used, and leaves used sizes alone."""
    costs = CostModel(0.95)
    for duration_s in (0.006, 0.5, 0.006):
        costs.record('decode', duration_s, batch=3)
    for _ in range(8):
        costs.record('decode', 0.009, batch=8)
    costs.age('decode')
    assert costs.predict_s('decode', batch=3) == 0.5      # fresh until now
    costs.record('decode', 0.010, batch=8)
    costs.age('decode')
    assert costs.predict_s('decode', batch=3) == 0.006
    assert costs.predict_s('decode', batch=8) == 0.010


def test_costs_survive_a_trip_through_json():
    """What was learned can be kept in a file."""
    costs = CostModel(0.9)
    for batch in (1, 3, 16):
        costs.record('decode', 0.001 * batch, batch=batch)
    costs.record('encode', 0.03)
    again = CostModel.from_dict(json.loads(json.dumps(costs.to_dict())), quantile=0.9)
    assert again.to_dict() == costs.to_dict()
    assert again.predict_s('decode', batch=16) == costs.predict_s('decode', batch=16)


def test_a_batch_of_nothing_is_an_error():
    """The message names the value."""
    with pytest.raises(ValueError, match='batch is 0'):
        CostModel().predict_s('decode', batch=0)
