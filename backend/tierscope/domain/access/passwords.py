"""What is accepted as a password: long enough, and not one of the few long ones that are guessed first.

NIST SP 800-63B-4, 3.1.1.2: at least 15 characters where a password is the only factor, at least 64 allowed, no rules of
composition, no change without a reason, a list of what is refused; compared after Unicode normalisation (NFKC).
"""

import unicodedata

MIN_LENGTH = 15
MAX_LENGTH = 256
_LONGEST_UNIT = 5
_SHORTEST_WORD = 3
_SHORTEST_RUN = 4
_RUNS = ("abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiopasdfghjklzxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn")
_EXPECTED = (
    "password",
    "passphrase",
    "passwort",
    "tierscope",
    "letmein",
    "changeme",
    "correcthorsebatterystaple",
    "admin",
)


def normal_form(password: str) -> str:
    """Returns the form that is hashed, so that the same characters typed on another keyboard are the same."""
    return unicodedata.normalize("NFKC", password)


def refused_because(password: str, *, user_name: str) -> str | None:
    """Returns why a new password is not accepted, or None."""
    normal = normal_form(password)
    if len(normal) < MIN_LENGTH:
        return f"it has {len(normal)} characters, and at least {MIN_LENGTH} are needed"
    if len(normal) > MAX_LENGTH:
        return f"it has {len(normal)} characters, and at most {MAX_LENGTH} are taken"
    folded = _folded(normal)
    if any(folded == _repeated(folded[:length], len(folded)) for length in range(1, _LONGEST_UNIT + 1)):
        return "it repeats a few characters"
    rest = folded
    own = _folded(user_name.partition("@")[0])
    for word in (*((own,) if len(own) >= _SHORTEST_WORD else ()), *_EXPECTED, *_runs_in(folded)):
        rest = rest.replace(word, "")
    if len(rest) < MIN_LENGTH // 3:
        return "it is made of your name, words that are guessed first, or keys in their order"
    return None


def _folded(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _repeated(unit: str, length: int) -> str:
    return unit * (length // max(1, len(unit))) + unit[: length % max(1, len(unit))]


def _runs_in(folded: str) -> list[str]:
    """Stretches of at least four characters that follow each other in the alphabet, in numbers or on the keyboard."""
    found = []
    for run in (direction for line in _RUNS for direction in (line, line[::-1])):
        start = 0
        while start <= len(folded) - _SHORTEST_RUN:
            end = start + _SHORTEST_RUN
            if folded[start:end] not in run:
                start += 1
                continue
            while end < len(folded) and folded[start : end + 1] in run:
                end += 1
            found.append(folded[start:end])
            start = end
    return sorted(found, key=len, reverse=True)
