"""Setting advice: rules over what a host has and does, and files for people to apply. Nothing here changes a host."""

from tierscope.domain.knobs.advice import Advice, Change, Effect, Evidence, Given, Unknown, Withheld, advise
from tierscope.domain.knobs.facts import Facts, Flows, Heat, Host
from tierscope.domain.knobs.files import Files, render_files, rollback_of

__all__ = [
    "Advice",
    "Change",
    "Effect",
    "Evidence",
    "Facts",
    "Files",
    "Flows",
    "Given",
    "Heat",
    "Host",
    "Unknown",
    "Withheld",
    "advise",
    "render_files",
    "rollback_of",
]
