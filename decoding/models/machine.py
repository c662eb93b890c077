"""The machine a model runs on: its processor, and the cores this process may use."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Of a container: microseconds of CPU granted, and in how many; `max` where there is no limit."""


def processor() -> str:
    """The processor's name where the system tells it, else its kind."""
    with contextlib.suppress(OSError):
        for line in CPU_INFO.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Those this process is bound to, at most what its control group grants it, at least one."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = map(int, CPU_QUOTA.read_text().split())
        return max(1, min(bound, quota // period))
    except (OSError, ValueError):
        return bound
