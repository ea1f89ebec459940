"""The addresses of every page of the dashboard, with each of its tabs."""

import json
from urllib.parse import quote

# A link as the page makes it when a price is confirmed: without one it draws no cost.
_PRICE = {"value": 11, "low": 9, "high": 14, "source": "market report", "date": "2025-12-01"}
_PRICED = f"/tco?set={quote(json.dumps({'prices.dram': _PRICE}))}"
_EXPLORED = quote(json.dumps(["tierscope_host_memory_pressure_some_ratio", "rate(x_total[5m])"]))
_SERVICE_TABS = ("overview", "heatmap", "revisit", "curve", "sensitivity", "moves", "fairness", "hosts", "advice")
_HOST_TABS = ("overview", "advice", "moves", "fairness", "counters", "hardware", "setup")
_ADMIN_TABS = ("users", "teams", "tokens", "audit", "removals")
_ALERT_TABS = ("alerts", "timeline", "rules", "silences", "routes")
_INSTALL_WAYS = ("systemd", "deb", "kubernetes", "ansible", "prometheus")


def pages_of(host: str, service: str | None, window: str = "") -> list[str]:
    """Lists, the tabs of a host and of a service, where there is one; those of a window are asked about this one."""
    return [
        f"/?{window}",
        f"/services?{window}",
        *(f"/services/{service}?tab={tab}&{window}" for tab in (_SERVICE_TABS if service else ())),
        f"/hosts?{window}",
        *(f"/hosts/{host}?tab={tab}&{window}" for tab in _HOST_TABS),
        *(f"/advice?tab={tab}&{window}" for tab in ("cards", "plan", "drift")),
        "/experiments",
        *([f"/experiments/new?service={service}"] if service else []),
        "/simulator?new=on",
        f"/capacity?{window}",
        "/capacity?tab=plan",
        "/capacity?tab=reports",
        _PRICED,
        *(f"/alerts?tab={tab}" for tab in _ALERT_TABS),
        "/alerts/rules/new",
        f"/explore?expr={_EXPLORED}&{window}",
        "/agents",
        *(f"/add-hosts?how={way}" for way in _INSTALL_WAYS),
        "/data-quality",
        *(f"/admin?tab={tab}" for tab in _ADMIN_TABS),
        "/account",
        "/status",
        "/login",
    ]
