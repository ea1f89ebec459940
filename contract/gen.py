"""Write every generated file from the contract. `make gen` runs this; CI fails when the tree changes by it.

    .venv/bin/python contract/gen.py

Each generator is a module beside this one and can be run alone.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import gen_advice
import gen_catalogue
import gen_client
import gen_heat
import gen_openapi
import gen_proto
import gen_quantities
import gen_terms


def main() -> int:
    """Run all generators: tables first, because the others import code that they write; the client last."""
    gen_advice.main()
    gen_catalogue.main()
    gen_heat.main()
    gen_proto.main([])
    gen_quantities.main()
    gen_terms.main()
    return gen_openapi.main() or gen_client.main()


if __name__ == "__main__":
    raise SystemExit(main())
