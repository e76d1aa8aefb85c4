"""``python -m lowland`` is the ``lowland`` command."""

from ._cli import main

main()
