"""A question over a folder of documents: Markdown, text, HTML and PDF.

    python examples/corpus_question.py
    motet solve "Where was Thomas Tallis buried?" --tools corpus:examples/corpus -c sampling.temperature=0

The embedded model has 135 million parameters. It shows that everything works, on any laptop and without a key; for answers
to rely on, name a better one with ``--model``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import motet

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    """Ask, and print the answer, where it comes from, and what it cost."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("question", nargs="?", default="Where was Thomas Tallis buried?")
    arguments.add_argument("--model", default="embedded")
    given = arguments.parse_args()
    result = motet.run(
        given.question,
        model=given.model,
        tools=[f"corpus:{CORPUS}"],
        max_tokens=120,
        sampling={"temperature": 0},  # the likeliest words, so that the answer is the same each time
    )
    print("answer:", result.answer)
    for source in result.sources:
        print("source:", source.ref, "-", source.title)
    print(f"{result.usage.calls} calls, {result.usage.tokens} tokens, run {result.run_id}")


if __name__ == "__main__":
    main()
