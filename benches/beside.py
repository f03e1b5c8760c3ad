"""fa2-bench in turn with the peers: a process of its own, which times one round of our kernels when it is told to.

`fa2-bench forward --paced` and `fa2-bench backward --paced` prepare and check their kernels at one shape after the
other and write a line `ready SHAPE`, SHAPE being JSON. They answer each line `round` with `done`, once a round of all
their kernels has been timed, and go on to the next shape at a line `next`. Their windows are as long as the peers':
`--window-ms` is added to the command. Their times are in their own record: merge it.
"""

import json
import shlex
import subprocess
import sys


class Bench:
    """The process. Its other output goes to standard error."""

    def __init__(self, command, window_ms):
        try:
            self.process = subprocess.Popen(
                [*shlex.split(command), "--window-ms", str(window_ms)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        except OSError as error:
            sys.exit(f"{command}: {error.strerror}")

    def shapes(self):
        """The shapes it is ready for, one by one, until it ends."""
        while (shape := self.answer("ready")) is not None:
            yield json.loads(shape)
            self.say("next")
        if self.process.wait() != 0:
            sys.exit(f"{self.process.args[0]} failed: status {self.process.returncode}")

    def round(self):
        """Has it time a round."""
        self.say("round")
        if self.answer("done") is None:
            sys.exit(f"{self.process.args[0]} ended within a shape: status {self.process.wait()}")

    def say(self, word):
        """Writes a line. That the process has ended shows when its answer is read."""
        try:
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def answer(self, word):
        """What follows `word` on the next line that begins with it, or None where the process has ended."""
        for line in self.process.stdout:
            first, _, rest = line.strip().partition(" ")
            if first == word:
                return rest
            print(line, end="", file=sys.stderr)
        return None
