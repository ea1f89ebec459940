"""What the routes of experiments answer: the experiment with its effects, the list, the plan."""

from typing import Literal

Direction = Literal["higher_is_better", "lower_is_better"]
Verdict = Literal["improved", "no_difference", "worse", "inconclusive"]
State = Literal["planned", "running", "ended"]
