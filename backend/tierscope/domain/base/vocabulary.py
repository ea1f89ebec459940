"""Words that the answers of several districts use, one by one as the contract names them."""

from typing import Literal

PageKind = Literal["anon", "file", "tmpfs"]
Severity = Literal["info", "warning", "critical"]
