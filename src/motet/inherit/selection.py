"""Selection: which candidate is the result, and when refining one is given up for another design. Source: Inherit-MAS, "Selection" and "Restart"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from motet.inherit.candidate import Candidate


def rank(candidate: Candidate) -> tuple[int, int, int, int, int, int]:
    """Sorts the better candidate first: fewest hard failures, a valid output, then quality, coverage and grounding; of equals, the earlier.

    Hard failures are nodes that failed and an invalid output. A candidate without a verdict comes after all with the same failures.
    """
    invalid = not candidate.audit.valid
    verdict = candidate.verdict
    marks = (
        (verdict.quality_score, verdict.requirement_coverage, verdict.artifact_grounding) if verdict else (-1, -1, -1)
    )
    quality, coverage, grounding = marks
    return len(candidate.execution.errors) + invalid, int(invalid), -quality, -coverage, -grounding, candidate.index


def choose(candidates: Sequence[Candidate]) -> Candidate:
    """The best of ``candidates``, of which there must be one."""
    return min(candidates, key=rank)


def ranked_prefix(
    candidates: Sequence[Candidate], *, choice: Callable[[list[Candidate]], Candidate] = choose
) -> tuple[int, ...]:
    """For each candidate, which one would be chosen if the evolution ended with it."""
    return tuple(choice(list(candidates[: position + 1])).index for position in range(len(candidates)))


def stagnates(candidates: Sequence[Candidate], *, margin: float) -> bool:
    """Whether refining was tried and has not helped: no output is valid, or the best quality is within ``margin`` points of the first candidate's."""
    if len(candidates) < 2:
        return False
    if not any(candidate.audit.valid for candidate in candidates):
        return True
    marks = [candidate.quality or 0 for candidate in candidates]
    return max(marks) - marks[0] <= margin


def rounds_without_gain(candidates: Sequence[Candidate]) -> int:
    """How many candidates have come since the one with the best quality."""
    marks = [candidate.quality or 0 for candidate in candidates]
    return len(marks) - 1 - marks.index(max(marks))
