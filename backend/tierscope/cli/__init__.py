"""The `tierscope` command: one file per group of commands. Answers go to stdout, everything else to stderr."""
