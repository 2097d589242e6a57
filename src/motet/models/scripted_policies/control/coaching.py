"""What TacoMAS asks: what each member contributed and is to be told, and the team's next graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.judge import USELESS
from motet.models.scripted_policies.control.meta import free_id, print_of
from motet.models.scripted_policies.control.odds import Luck, Odds
from motet.models.scripted_policies.control.reading import Asked, Member, Said

_ROUND = re.compile(r"Say what each agent contributed in round (\d+)")
_LEAST = re.compile(r"(\d+) to \d+ members in all")


def capabilities(asked: Asked, odds: Odds) -> Said:
    """A high score and nothing to add for who did well, a low one and the remedy for who is blamed; sometimes a remedy goes unsaid."""
    numbered = _ROUND.search(asked.text)
    luck = Luck((odds.seed, "coach", asked.question, numbered[1] if numbered else "", print_of(asked.team.values())))
    agents, goes_on = [], any(not blame.node for blame in asked.blamed)
    for member in asked.team.values():
        blames = [blame for blame in asked.blamed if blame.node == member.id]
        remedies = [blame.remedy for blame in blames if blame.remedy and not member.told(blame.remedy)]
        goes_on = goes_on or bool(remedies)
        said = [remedy for remedy in remedies if not luck.hits(f"unsaid {remedy}", odds.baselines.unsaid)]
        agents.append(
            {
                "agent_id": member.id,
                "contribution_score": 30 if blames else 80,
                "score_reason": blames[0].problem if blames else "it did what was asked",
                "prompt_delta": " ".join(f"{remedy[0].upper()}{remedy[1:]}." for remedy in said),
            }
        )
    return {"agents": agents, "continue_evolution": goes_on or luck.hits("on", odds.baselines.goes_on)}


def structure(asked: Asked, craft: Craft) -> Said:
    """The graph with who is missing, or without who gave nothing, or as it is."""
    team = list(asked.team.values())
    if asked.repairs:
        return _graph(team)
    for blame in asked.blamed:
        if not blame.node:
            new = craft.recruit(asked, blame)
            if new is not None:
                new = replace(new, id=free_id(asked, new.id))
                return _graph([_reading(member, new, asked) for member in team] + [new])
        elif blame.problem.startswith(USELESS) and _can_go(blame.node, asked):
            left = [member for member in team if member.id != blame.node]
            return _graph([replace(m, inputs=tuple(id_ for id_ in m.inputs if id_ != blame.node)) for m in left])
    return _graph(team)


def _reading(member: Member, new: Member, asked: Asked) -> Member:
    """``member``, who reads ``new`` too if it reads others of its role and is not of it itself."""
    reads = member.role != new.role and any(asked.team[id_].role == new.role for id_ in member.inputs)
    return replace(member, inputs=(*member.inputs, new.id)) if reads else member


def _can_go(id_: str, asked: Asked) -> bool:
    """Whether enough are left without it, one of its role among them, and nobody is left without anything to read."""
    least = _LEAST.search(asked.text)
    others = [member for member in asked.team.values() if member.id != id_]
    alike = any(member.role == asked.team[id_].role for member in others)
    return len(others) >= (int(least[1]) if least else 1) and alike and all(m.inputs != (id_,) for m in others)


def _graph(team: Sequence[Member]) -> Said:
    return {"nodes": [{**vars(member), "tools": list(member.tools), "inputs": list(member.inputs)} for member in team]}
