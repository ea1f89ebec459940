"""Who is told of alerts, when, and in which words: matchers, routes, groups, silences, inhibitions, payloads."""
