"""Numbers in words: bytes with binary units, days, shares, counts. Absent values are a dash."""

import math

ABSENT = "\N{EN DASH}"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_STEP = 1024.0
_TEN, _HUNDRED = 10.0, 100.0


def bytes_text(value: float | None) -> str:
    """Three significant digits with a binary unit, such as `1.46 TiB`."""
    if value is None:
        return ABSENT
    size, unit = abs(value), 0
    while size >= _STEP - 0.5 and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    digits = 0 if unit == 0 or size >= _HUNDRED else 1 if size >= _TEN else 2
    sign = "-" if value < 0 and round(size, digits) > 0 else ""
    return f"{sign}{size:.{digits}f} {_UNITS[unit]}"


def growth_text(value: float | None) -> str:
    """Bytes per day with a sign."""
    if value is None:
        return ABSENT
    return f"{'+' if value > 0 else ''}{bytes_text(value)} a day"


def days_text(value: float | None) -> str:
    """Days, whole ones from ten on."""
    if value is None:
        return ABSENT
    return f"{value:.0f} days" if value >= _TEN else f"{value:.1f} days"


def ratio_text(part: float | None, whole: float | None) -> str:
    """A share as a percentage."""
    return ABSENT if part is None or not whole else f"{part / whole:.0%}"


def percent_text(ratio: float) -> str:
    """A share, with two digits where it is small: 47 %, 0.71 %."""
    percent = ratio * 100
    if percent == 0 or percent >= _TEN:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2f} %"


def number_text(value: float, digits: int = 3) -> str:
    """A number with so many digits that tell, never as a power of ten: 21,030; 17.2; below a millionth `0.000001`."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{value:,.{min(max(decimals, 0), 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def counted(count: int, noun: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def age_words(age_seconds: float) -> str:
    """How long memory was cold before it goes to swap, in words."""
    minutes = f"{age_seconds / 60.0:.0f}"
    return f"{minutes} more minute{'' if minutes == '1' else 's'}" if age_seconds else "two intervals"
