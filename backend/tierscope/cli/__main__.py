"""`python -m tierscope.cli` is `tierscope`."""

from tierscope.cli.main import main

main()
