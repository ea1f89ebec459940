"""The one error type of the embedded servers: a cause and what to do next."""


class EmbeddedError(Exception):
    """An embedded server could not be set up, started or reached. Shown to the user as `cause` and `next_step`."""

    def __init__(self, *, cause: str, next_step: str) -> None:
        """Keep both parts; the message joins them."""
        super().__init__(f"{cause}; {next_step}")
        self.cause = cause
        self.next_step = next_step
