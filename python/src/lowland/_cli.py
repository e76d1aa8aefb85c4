"""The ``lowland`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command with the arguments of the process."""
    from ._lowland import run_command

    sys.exit(run_command(["lowland", *sys.argv[1:]]))
