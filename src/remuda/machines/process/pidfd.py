"""Handles of processes that can never come to mean another process, where the kernel has them."""

import os
import signal
import sys
from collections.abc import Callable


def open_pidfd(pid: int) -> int | None:
    """A descriptor of the process; None when it is gone or the system has no such descriptors."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def send(number: int, pid: int, is_right: Callable[[], bool]) -> bool:
    """
    Send a signal to a process if `is_right` still says it is the one meant; True when it was sent.

    The question is asked after the descriptor was opened, so that the answer holds for whom the signal reaches.
    """
    pidfd = open_pidfd(pid)
    try:
        if not is_right():
            return False
        if pidfd is None:
            os.kill(pid, number)
        elif sys.platform == "linux":
            signal.pidfd_send_signal(pidfd, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if pidfd is not None:
            os.close(pidfd)
    return True
