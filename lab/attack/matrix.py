"""All attacks, in the order in which they are played and reported."""

from attack import (
    addresses,
    agents,
    bodies,
    browsers,
    callers,
    connections,
    documents,
    expressions,
    granting,
    logins,
    names,
    outgoing,
    queries,
    readers,
    rebinding,
    smuggling,
    stored_rows,
    stores,
)
from attack.play import Attack

ATTACKS = (
    Attack(
        "expressions",
        "Expressions that explode: rules, imports, silences, routes, filters",
        expressions.attack,
    ),
    Attack("queries", "The worst questions that a search finds, by many viewers at once", queries.attack),
    Attack("readers", "Two hundred readers who open pages at once", readers.attack),
    Attack("bodies", "Protobuf, zstd and snappy bombs, alone and together", bodies.attack),
    Attack("documents", "JSON, forms, YAML, CSV and Parquet that are too large, too deep or lie", documents.attack),
    Attack("callers", "Every operation by every kind of caller", callers.attack),
    Attack("browsers", "Forged writes, fixed sessions, strange cookies", browsers.attack),
    Attack("logins", "A login provider that lies and hangs, forged and replayed callbacks", logins.attack),
    Attack("stores", "An object store that lies, hangs and forgets", stores.attack),
    Attack("rebinding", "Foreign and doubled Host headers, with tokens and proxies' headers", rebinding.attack),
    Attack("outgoing", "Internal addresses as receivers and in reports, by redirect too", outgoing.attack),
    Attack("smuggling", "Hidden requests, heads without end, what is no HTTP", smuggling.attack),
    Attack("connections", "Hundreds of slow clients beside others", connections.attack),
    Attack("addresses", "Paths, ids, cursors and queries that nobody means", addresses.attack),
    Attack("names", "Names that deceive: enrolment, labels, batches", names.attack),
    Attack("granting", "Handing out more than one has, and having again what was taken", granting.attack),
    Attack("agents", "A hostile server against the agent", agents.attack),
    Attack("stored_rows", "Stored rows that cannot be read", stored_rows.attack),
)
