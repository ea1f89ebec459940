"""Runs a notebook of this folder and writes its outputs into it, or into another file.

    pip install --require-hashes -r docs/notebooks/requirements.lock && pip install --no-deps backend/tierscope_client
    TIERSCOPE_URL=http://127.0.0.1:8480 python docs/notebooks/run.py docs/notebooks/first-service-to-move.ipynb

It fails where a cell does, with that cell and its error.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

CELL_SECONDS = 300


def main(source: Path, target: Path) -> None:
    """Run all cells in order; keep what they print and show, and nothing of when and where they ran."""
    notebook = nbformat.read(source, as_version=4)
    # A print may come in pieces, by chance of time.
    NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", record_timing=False, coalesce_streams=True
    ).execute()
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop("text/html", None)  # the same table again
    nbformat.write(notebook, target)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[-1]))
