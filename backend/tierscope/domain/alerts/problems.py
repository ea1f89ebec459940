"""What is wrong with a rule: where, why, and what to do."""

from dataclasses import dataclass
from typing import Annotated

from tierscope.domain.base.described import Described


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """`at`: the field, with the column in a condition: `expression:12`."""

    at: Annotated[str, Described("The field, with the column in a condition: `expression:12`.")]
    message: str
    next_step: str


class RuleError(Exception):
    """A rule that cannot be used."""

    def __init__(self, problem: RuleProblem) -> None:
        super().__init__(f"{problem.at}: {problem.message}")
        self.problem = problem
