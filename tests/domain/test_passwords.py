"""Which passwords are accepted."""

import pytest

from tierscope.domain.access.passwords import MAX_LENGTH, MIN_LENGTH, normal_form, refused_because


@pytest.mark.parametrize(
    "password",
    [
        "plover cutlass humid orbit",
        "nur kleine buchstaben hier",
        "7194 2260 8853 1907",
        "ein schöner langer satz",
        "x" + "plover cutlass humid orbit" * 9,
        "annelise goes sailing today",
    ],
)
def test_long_passwords_need_no_digits_capitals_or_signs(password: str) -> None:
    assert refused_because(password, user_name="ann") is None


@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("Tr0ub4dor&3", "at least 15"),
        ("é" * (MIN_LENGTH - 1), "at least 15"),
        ("plover cutlass" * MAX_LENGTH, "at most"),
        ("aaaaaaaaaaaaaaaa", "repeats"),
        ("abcabcabcabcabca", "repeats"),
        ("12 12 12 12 12 12", "repeats"),
        ("passwordpassword1", "guessed first"),
        ("qwertyuiopasdfgh", "guessed first"),
        ("abcdefghijklmnopqrs", "guessed first"),
        ("9876543210987654", "guessed first"),
        ("Tierscope Tierscope", "guessed first"),
        ("ann.lee ann.lee 1", "guessed first"),
        ("correct horse battery staple", "guessed first"),
    ],
)
def test_what_is_guessed_first_is_refused_with_the_reason(password: str, reason: str) -> None:
    assert reason in str(refused_because(password, user_name="ann.lee@example.org"))


def test_the_same_characters_typed_otherwise_are_the_same_password() -> None:
    assert normal_form("scho\u0308ner") == normal_form("sch\u00f6ner")
