"""The answers that component specs are written against, served to a real browser.

The demonstration cannot measure everything that a chart can draw: it sends no throughput, and no host of it is missing.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FRONTEND = Path(__file__).parents[2] / "frontend"
BUILD_SECONDS = 600
_SERVER = """
import { createServer } from 'node:http'
import { answer } from './answer.js'
const server = createServer((request, response) => {
  const found = answer(request.url)
  found.arrayBuffer().then((body) => {
    response.writeHead(found.status, { 'Content-Type': found.headers.get('content-type') ?? 'text/plain' })
    response.end(Buffer.from(body))
  })
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.on('end', () => process.exit(0)).resume()
"""


@contextmanager
def serve_mock_api(directory: Path) -> Iterator[str]:
    """Compiles the mock API into `directory` and serves it; yields its address. It ends with this process."""
    node = shutil.which("node")
    vite = FRONTEND / "node_modules" / "vite" / "bin" / "vite.js"
    if node is None or not vite.is_file():
        pytest.skip("Node or the dashboard's packages are not installed")
    build = [
        node,
        str(vite),
        "build",
        "--ssr",
        "src/mock-api/answer.ts",
        "--outDir",
        str(directory),
        "--logLevel",
        "warn",
    ]
    subprocess.run(build, cwd=FRONTEND, check=True, timeout=BUILD_SECONDS, env=os.environ | {"NODE_ENV": "production"})
    (directory / "server.mjs").write_text(_SERVER, encoding="utf-8")
    (directory / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    with subprocess.Popen(
        [node, "server.mjs"], cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()
