"""Index time and search latency of the corpus tools over synthetic files.

    python -m benchmarks.corpus_index [FILES]

Prints seconds and milliseconds on this machine. Nine files of ten are Markdown and one is HTML; words follow Zipf's law.
"""

from __future__ import annotations

import itertools
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from motet.tools.corpus import open_corpus

VOCABULARY = 30_000
SEARCHES = 200


def main(files: int) -> None:
    """Write ``files`` documents of about 5,300 characters, index them, and search."""
    rng = random.Random(1)
    words = [
        "".join(rng.choice("bcdfghklmnprstvw") + rng.choice("aeioué") for _ in range(rng.randint(1, 5)))
        for _ in range(VOCABULARY)
    ]
    shares = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    with tempfile.TemporaryDirectory() as folder:
        size = 0
        for number in range(files):
            paragraphs = [
                " ".join(rng.choices(words, cum_weights=shares, k=rng.randint(30, 120))) + "." for _ in range(10)
            ]
            size += sum(map(len, paragraphs))
            write(Path(folder), number, paragraphs)
        started = time.perf_counter()
        corpus = open_corpus(folder)
        opened = time.perf_counter()
        corpus.search(words[0])
        indexed = time.perf_counter()
        latencies = []
        for _ in range(SEARCHES):
            query = " ".join(rng.choices(words, cum_weights=shares, k=6))
            before = time.perf_counter()
            corpus.search(query)
            latencies.append((time.perf_counter() - before) * 1e3)
    latencies.sort()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{files} files, {size / 1e6:.1f} million characters")
    print(f"list and hash   {opened - started:6.2f} s")
    print(f"read and index  {indexed - opened:6.2f} s")
    print(
        f"search          {statistics.median(latencies):6.2f} ms median, {latencies[len(latencies) * 95 // 100]:.2f} ms 95th percentile"
    )
    print(f"memory          {memory:6.0f} MB resident at most")


def write(folder: Path, number: int, paragraphs: list[str]) -> None:
    """One document: HTML for every tenth, else Markdown."""
    if number % 10 == 9:
        body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        page = f"<html><head><title>Page {number}</title></head><body><nav>a b</nav><article><h1>Page {number}</h1>{body}</article></body></html>"
        (folder / f"{number}.html").write_text(page, encoding="utf-8")
    else:
        (folder / f"{number}.md").write_text(f"# Page {number}\n\n" + "\n\n".join(paragraphs), encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
