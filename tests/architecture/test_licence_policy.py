"""The policy of licences that `make sbom` applies: what it lets through, and what it must not."""

import pytest

from architecture.tree import ROOT, load_script

POLICY = load_script("deploy/sbom/policy.py")


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0-or-later", False),
        ("MIT OR GPL-2.0-only", True),
        ("GPL-2.0-only OR MIT", True),
        ("MIT AND GPL-2.0-only", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(GPL-2.0-only OR MIT) AND AGPL-3.0-only", False),
        ("MIT OR Apache-2.0 AND GPL-2.0-only", True),
        ("Apache-2.0 WITH LLVM-exception OR MIT", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT/Apache-2.0", True),
        ("Something-New", False),
    ],
)
def test_expressions_are_met_or_not(expression: str, met: bool) -> None:  # noqa: FBT001 - a column of the table
    assert POLICY.satisfies(expression, POLICY.ALLOWED) is met


@pytest.mark.parametrize("expression", ["", "MIT OR", "(MIT", "MIT Apache-2.0", "MIT)"])
def test_what_cannot_be_read_is_no_licence(expression: str) -> None:
    with pytest.raises(ValueError, match="licence expression"):
        POLICY.satisfies(expression, POLICY.ALLOWED)


@pytest.mark.parametrize(
    ("name", "licence", "runtime", "fault"),
    [
        ("numpy", "BSD-3-Clause", True, None),
        ("psycopg", "LGPL-3.0-only", True, None),
        ("other", "LGPL-3.0-only", True, "is shipped under LGPL-3.0-only"),
        ("other", "LGPL-3.0-only", False, None),
        ("libcachesim", "GPL-3.0-or-later", False, None),
        ("libcachesim", "GPL-3.0-or-later", True, "is shipped under GPL-3.0-or-later"),
        ("other", "GPL-3.0-or-later", False, "is used in development under GPL-3.0-or-later"),
        ("psycopg", "GPL-3.0-only", True, "is shipped under GPL-3.0-only"),
        ("other", "", True, "is shipped and names no licence"),
        ("other", "", False, "is used in development and names no licence"),
    ],
)
def test_packages_are_judged_by_where_they_are(name: str, licence: str, runtime: bool, fault: str | None) -> None:  # noqa: FBT001
    found = list(POLICY.faults_of([POLICY.Package("python", name, "1.0", licence, runtime)]))
    assert found == ([] if fault is None else [f"python {name} 1.0 {fault}"])


def test_exceptions_name_packages_that_the_locks_name() -> None:
    locks = "".join(
        (ROOT / path).read_text(encoding="utf-8")
        for path in ("requirements.lock", "frontend/package-lock.json", "collector-agent/Cargo.lock")
    )
    for name in {*POLICY.RUNTIME_EXCEPTIONS, *POLICY.DEVELOPMENT_EXCEPTIONS, *POLICY.STATED}:
        assert f"\n{name}==" in locks or f'node_modules/{name}"' in locks or f'name = "{name}"' in locks, name
