"""Blocks ahead: one thread reads the next blocks of a table while another uses the current one."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

Block = TypeVar("Block")
# Most blocks that wait.
_WAITING = 4


def blocks_ahead(blocks: Iterator[Block]) -> Generator[Block]:
    """The same blocks; an error of the reading thread is raised in place of its block."""
    pool = ThreadPoolExecutor(1)
    try:
        waiting = deque(pool.submit(next, blocks, None) for _ in range(_WAITING))
        while (block := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(next, blocks, None))
            yield block
    finally:
        pool.shutdown(cancel_futures=True)
