"""Cells of evolving systems for tests of studies, made by hand: what they tried, what the judge said, and what was true."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from motet.bench.evolution import Trial
from motet.inherit.candidate import Verdict
from motet.inherit.history import History, NodeRow, Round
from motet.inherit.workflow import Workflow
from tests.inherit.graphs import node

TEAM = Workflow(nodes=(node("mail"), node("dates"), node("plan", "integrator", "mail", "dates")))


def judged(quality: int) -> Verdict:
    """A verdict of one mark."""
    return Verdict(quality_score=quality, completion_likelihood=0, requirement_coverage=0, artifact_grounding=0)


def said(output: str, *, how: str = "ran", key: str = "k", tokens: int = 10) -> NodeRow:
    """A node that completed."""
    return NodeRow.model_validate(
        {"how": how, "status": "completed", "why": "", "tokens": tokens, "key": key, "output": output}
    )


def cell(
    marks: Sequence[int],
    truth: Sequence[float],
    *,
    task: str = "t",
    affected: Sequence[float] = (),
    workflow: Workflow = TEAM,
    outputs: Sequence[str] = (),
) -> Trial:
    """A round for each mark, each edited from the one before; ``affected`` is that of each edit, ``outputs`` what all nodes of each round say."""
    rounds, ranked = [], []
    for index, mark in enumerate(marks):
        text = outputs[index] if outputs else f"round {index}"
        rounds.append(
            Round(
                index=index,
                origin="edit" if index else "initial",
                parent=index - 1 if index else None,
                edits=("prompt",) if index else (),
                workflow=workflow,
                nodes={id_: said(f"{id_} {text}", key=f"{id_} {index}") for id_ in workflow.order},
                affected=affected[index - 1] if index and affected else 1.0,
                verdict=judged(mark),
                valid=True,
                live=30,
                inherited=10 if index else 0,
                meta=5,
                judge=2,
            )
        )
        ranked.append(max(range(index + 1), key=lambda other: (marks[other], -other)))
    return Trial(
        task, None, History(rounds=tuple(rounds), chosen=ranked[-1], ranked=tuple(ranked)), dict(enumerate(truth))
    )


def cells(values: st.SearchStrategy[float]) -> st.SearchStrategy[list[Trial]]:
    """Some cells of one to five rounds, with true scores from ``values``."""
    rounds = st.lists(
        st.tuples(st.integers(0, 100), values, st.sampled_from([0.2, 0.5, 0.6, 1.0])), min_size=1, max_size=5
    )

    def made(given: list[list[tuple[int, float, float]]]) -> list[Trial]:
        return [
            cell([m for m, _, _ in own], [s for _, s, _ in own], task=f"t{number}", affected=[a for _, _, a in own[1:]])
            for number, own in enumerate(given)
        ]

    return st.lists(rounds, min_size=1, max_size=6).map(made)
