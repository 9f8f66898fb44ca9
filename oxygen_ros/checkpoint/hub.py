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
"""Files of the Hugging Face hub, from the local cache first; huggingface_hub is optional."""

from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
import re
from typing import Any

from oxygen_ros.config import ConfigError

HUB_ID = re.compile(r'[\w][\w.-]*/[\w][\w.-]*')
# What a checkpoint needs; optimizer states and logs stay on the hub.
CHECKPOINT_FILES = ('*.safetensors', '*.json', '*.model', 'assets/**', 'tokenizer/**')


def is_hub_id(name: str) -> bool:
    """Return whether a name can only mean a repository, 'owner/name'."""
    return HUB_ID.fullmatch(name) is not None and not Path(name).exists()


def fetch_checkpoint(repository: str) -> Path:
    """Return the folder of a checkpoint's files."""
    def get(hub, **options: Any) -> str:
        return hub.snapshot_download(repository, allow_patterns=list(CHECKPOINT_FILES), **options)
    return Path(_cached_or_fetched(f'checkpoint {repository}', get,
                                   'give the path of a local directory'))


def fetch_tokenizer(repository: str, names: Sequence[str]) -> Path:
    """Return the first of these files that a repository has."""
    def get(hub, **options: Any) -> str:
        for name in names[:-1]:
            try:
                return hub.hf_hub_download(repository, name, **options)
            except hub.errors.EntryNotFoundError as error:
                # Without a connection every name would cost its own time-out.
                if not options and isinstance(error, hub.errors.LocalEntryNotFoundError):
                    raise
        return hub.hf_hub_download(repository, names[-1], **options)
    return Path(_cached_or_fetched(
        f'tokenizer {repository}', get,
        'copy tokenizer.json or a sentencepiece .model into the checkpoint directory, or set '
        'tokenizer to the path of one'))


def _cached_or_fetched(what: str, get: Callable[..., str], remedy: str) -> str:
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise ConfigError(f'{what} is on the hub, which needs `pip install huggingface_hub`; or '
                          f'{remedy}') from error
    try:
        return get(hub, local_files_only=True)
    except Exception:   # not in the cache, by any of the library's exceptions
        pass
    try:
        return get(hub)
    except Exception as error:
        reason = str(error).strip().partition('\n')[0] or type(error).__name__
        raise ConfigError(f'{what} is neither here nor in the local cache, and cannot be fetched '
                          f'({reason}); {remedy}') from error
