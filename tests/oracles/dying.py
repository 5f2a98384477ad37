"""A process that ends before a step of what it writes, as if the machine had lost its power."""

import os
from pathlib import Path

STEPS = [(os, "fsync"), (os, "rename"), (Path, "unlink"), (os, "replace")]
KILLED = 77


def lives_for(steps, *more):
    """Files reach the disk in steps; the process ends before the one of that number. more: other
    steps, as owners and names."""
    left = [steps]

    def around(right):
        def step(*args, **named):
            left[0] -= 1
            if left[0] < 0:
                os._exit(KILLED)
            return right(*args, **named)

        return step

    for owner, name in (*STEPS, *more):
        setattr(owner, name, around(getattr(owner, name)))


def in_child(work):
    """Run something in a process; return whether it came to its end."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)
