"""`doctor` judges the hazards of the charters whose advice it gives, so that it cannot differ from the service."""

from pathlib import Path

from tierscope.domain._generated.advice import CHARTERS

DOCTOR = Path(__file__).parents[2] / "collector-agent/crates/agent/src/doctor"
JUDGED_OTHERWISE = {
    "faster-memory-below": "`Lower::Faster` keeps demotion-off and promotion-off back",
    "damon-demotes": "`DamonMoves::demotes` keeps demotion-off back",
    "untiered": "findings on the limit ask for the tiering bit",
    "futile-moves": "asks for a window of counters",
    "churn": "asks for heat",
    "promotion-pays": "asks for samples of accesses",
}
"""Hazards that the agent's source does not name, and what takes the place."""


def test_doctor_names_the_hazards_of_what_it_advises() -> None:
    sources = [
        path.read_text("utf-8") for path in DOCTOR.rglob("*.rs") if "tests" not in f"{path.parent.name}{path.stem}"
    ]
    text = "".join(sources)
    asked = {hazard for charter in CHARTERS.values() if charter.doctor for hazard in charter.must_not}
    missing = {hazard for hazard in asked if f'"{hazard}"' not in text}
    assert missing == set(JUDGED_OTHERWISE), "name the hazard in doctor, or say what judges it"
