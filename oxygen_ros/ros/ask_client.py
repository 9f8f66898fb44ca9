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
Ask a running node about what its robot sees; the answer is printed as it is written.

    oxygen ask "what do you see?"
    oxygen ask "where is the apple?" --memory

Ctrl-C cancels the question. Exit code: 0 answered, 1 not answered (the reason is on stderr),
2 wrong arguments, 130 cancelled.
"""

import argparse
from collections.abc import Sequence
import sys

from oxygen_ros.action import Ask
from oxygen_ros.figures import write_figures
from oxygen_ros.ros.client import Client
from oxygen_ros.ros.client import Interrupted
from oxygen_ros.ros.client import run_client
from oxygen_ros.ros.command import complain
from oxygen_ros.ros.command import EXIT_FAILED
from oxygen_ros.ros.command import EXIT_INTERRUPTED
from oxygen_ros.ros.command import EXIT_OK
from oxygen_ros.ros.command import parse_before_ros
from oxygen_ros.ros.command import stop_on_signals

CANCEL_S = 3.0               # for the node to confirm a cancel
GOOD = ('eos', 'length', 'stop')


class Answer:
    """Prints the pieces of an answer in order, each once."""

    def __init__(self):
        self.shown = ''
        self._num_pieces = 0

    def piece(self, text: str, index: int) -> None:
        """Print a piece; behind a lost one nothing more until `finish`."""
        if index == self._num_pieces:
            self._num_pieces += 1
            self._show(text)

    def finish(self, text: str) -> None:
        """Print what is missing of the whole text: its result may overtake the last pieces."""
        self._show(text[len(self.shown):])
        if self.shown:
            sys.stdout.write('\n')
            sys.stdout.flush()

    def _show(self, text: str) -> None:
        self.shown += text
        sys.stdout.write(text)
        sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Ask one question; return the exit code."""
    stopping = stop_on_signals()
    options, ros_arguments = parse(list(sys.argv[1:] if argv is None else argv))
    return run_client('ask', ros_arguments, options.node, stopping,
                      lambda client: ask(client, options))


def parse(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return our options and the arguments for ROS."""
    parser = argparse.ArgumentParser(
        prog='oxygen ask', description='Ask a running node about what its robot sees.',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog='examples:\n  oxygen ask "what do you see?"\n'
               '  oxygen ask "where is the apple?" --memory --json answer.json\n\n'
               'Ctrl-C cancels the question. Exit code: 0 answered, 1 not answered, '
               '130 cancelled.')
    parser.add_argument('question', help='in words, in quotes')
    parser.add_argument('--memory', action='store_true',
                        help='let the answer use what the robot remembers')
    parser.add_argument('--memory-tokens', type=_whole, default=0, metavar='N',
                        help='room for that in the prompt (default: that of the node)')
    parser.add_argument('--max-tokens', type=_whole, default=0, metavar='N',
                        help='longest answer (default: that of the node)')
    parser.add_argument('--priority', type=int, default=5,
                        help='higher goes first; standing tasks have 0 to 10 (default 5)')
    parser.add_argument('--deadline', type=float, default=0.0, metavar='S',
                        help='end the answer after this time (default: never)')
    parser.add_argument('--json', metavar='FILE', default='', help='write answer and figures')
    parser.add_argument('--node', default='oxygen', help='name of the node (default: oxygen)')
    return parse_before_ros(parser, argv)


def ask(client: Client, options: argparse.Namespace) -> int:
    """Send the question, print what comes, return the exit code."""
    action, answer = None, Answer()
    try:
        action = client.action(Ask, 'ask')
        sent = action.send_goal_async(
            Ask.Goal(question=options.question, max_tokens=options.max_tokens,
                     priority=options.priority, deadline=options.deadline,
                     use_memory=options.memory, memory_tokens=options.memory_tokens),
            feedback_callback=lambda message: answer.piece(message.feedback.text,
                                                           message.feedback.index))
        client.spin(sent.done)
        goal = sent.result()
        if not goal.accepted:
            return complain('ask', 'the node rejected the question; see its log', EXIT_FAILED)
        ended = goal.get_result_async()
        client.spin(ended.done)
    except Interrupted:
        if action is not None and sent.done():
            ended = sent.result().get_result_async()
            sent.result().cancel_goal_async()
            client.spin(ended.done, timeout_s=CANCEL_S, interruptible=False)
            answer.finish(ended.result().result.text if ended.done() else '')
        return EXIT_INTERRUPTED
    result = ended.result().result
    answer.finish(result.text)
    failure = write_figures(options.json, figures(options.question, result)) \
        if options.json else ''
    if failure:
        return complain('ask', failure, EXIT_FAILED)
    if result.reason not in GOOD:
        detail = f': {result.detail}' if result.detail else ''
        return complain('ask', f'{result.reason}{detail}', EXIT_FAILED)
    return EXIT_OK


def figures(question: str, result: Ask.Result) -> dict:
    """Return an answer as JSON."""
    return {
        'question': question, 'text': result.text, 'reason': result.reason,
        'detail': result.detail, 'frame_id': result.frame_id,
        'observation_stamp': result.observation_stamp.sec
        + result.observation_stamp.nanosec * 1e-9,
        'time_to_first_token_s': round(result.time_to_first_token, 4),
        'tokens_per_s': round(result.tokens_per_second, 2), 'facts': list(result.facts)}


def _whole(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f'{value} is negative')
    return value


if __name__ == '__main__':
    sys.exit(main())
