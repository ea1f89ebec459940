"""How often batches come by themselves."""

from tierscope.usecases.ingest.senders import Senders


def test_hosts_count_once_a_minute_however_often_they_send() -> None:
    now = 100.0
    senders = Senders(lambda: now)
    for host in (*range(120), *range(120)):
        senders.note(host)
    assert senders.per_second() == 0.0
    now += 61.0
    assert senders.per_second() == 2.0
    senders.note(1)
    now += 60.0
    assert senders.per_second() == 1 / 60
    now += 500.0
    assert senders.per_second() == 0.0
