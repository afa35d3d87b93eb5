"""A kernel for a notebook, forked where a study forks: `python -m as2lib.report.kernel -f FILE`."""

import os
import signal
import sys

from as2lib.runs.forked import asked


def run(given: list[str]) -> int:
    """A kernel of Jupyter in this process, until it is asked to end."""
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(given)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")  # read once, as it is imported
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # comes before a request to end, and a fork would not hear it
    if (code := asked("kernel", sys.argv[1:])) is None:
        signal.signal(signal.SIGINT, before)
        code = run(sys.argv[1:])
    sys.exit(code)
