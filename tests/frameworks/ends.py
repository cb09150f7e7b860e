# SPDX-License-Identifier: Apache-2.0
"""Programs that end in the middle of an epoch, in processes of their own and under a time limit."""
import signal
import subprocess
import sys

LIMIT = 180  # seconds for one process, on a machine that is busy with other things


def check_end(program: str, end: str, wanted: int) -> None:
    """The program, then the words that end it: the exit code, and no crash on the way out."""
    done = subprocess.run([sys.executable, "-c", program + end], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == wanted and "Fatal" not in done.stderr, done.stderr


def check_ctrl_c(program: str, between: bool = False) -> None:
    """A program with an iterator `it`, interrupted while it takes batches: anywhere, or between two of them."""
    loop = "for kept in it: pass"
    if between:
        loop = "import signal\nfor n, kept in enumerate(it):\n    if n == 40: signal.raise_signal(signal.SIGINT)"
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", program + "print('ready', flush=True)\n" + loop],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        if not between:
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
        if process.returncode or "Exception ignored in" not in errors:
            break  # otherwise it fell into a callback of the framework's, where Python drops exceptions: again
    assert process.returncode in (1, 130, -signal.SIGINT) and "KeyboardInterrupt" in errors, errors
