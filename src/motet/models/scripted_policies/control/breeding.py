"""What EvoMAS asks: parents from a pool, a team fitted to the task, a mutation of one component, a child of two teams."""

from __future__ import annotations

import re

from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.meta import other_tools, print_of, with_remedy, with_saying
from motet.models.scripted_policies.control.odds import Luck, Odds
from motet.models.scripted_policies.control.reading import Asked, Member, Said

_NUMBER = re.compile(r"Choose (\d+) parents for this task from the pool")
_POOLED = re.compile(r"^([a-z]\w*): ", re.MULTILINE)


def parents(asked: Asked, odds: Odds) -> Said:
    """As many of the pool as are wanted, in an order of luck: all of them are fit for any task."""
    luck = Luck((odds.seed, "parents", asked.question))
    asks = _NUMBER.search(asked.text)
    pool = _POOLED.findall(asked.text[asks.end() :]) if asks else []
    chosen: list[str] = []
    for number in range(min(int(asks[1]), len(pool)) if asks else 0):
        chosen.append(luck.pick(f"parent {number}", [name for name in pool if name not in chosen]))
    return {"parents": chosen}


def adapt(asked: Asked, craft: Craft, odds: Odds) -> Said:
    """The team's texts with a word of advice here and there."""
    luck = Luck((odds.seed, "adapt", asked.question, print_of(asked.team.values())))
    return {
        "nodes": [
            {"id": member.id, "subtask": "", "prompt": _advised(member, craft, odds, luck)}
            for member in asked.team.values()
        ]
    }


def mutate(asked: Asked, craft: Craft, odds: Odds) -> Said:
    """Mostly a prompt or tools that mend what is blamed, else any component."""
    luck = Luck((odds.seed, "mutate", asked.question, print_of(asked.team.values()), asked.said))
    if not asked.repairs and not luck.hits("unhelpful", odds.edit.unhelpful):
        for blame in asked.blamed:
            member = asked.team.get(blame.node)
            if member is None:
                continue
            tool = craft.tool(blame)
            if tool in asked.tools:
                return _mutation("tools", member, tools=[*member.tools, tool])
            if blame.remedy and not member.told(blame.remedy):
                return _mutation("prompts", member, prompt=with_remedy(member.prompt, blame.remedy))
    luck = luck.within(asked.repairs)
    member = luck.pick("member", list(asked.team.values()))
    if len(member.inputs) > 1 and luck.hits("topology", 0.5):
        return _mutation("topology", member, inputs=list(reversed(member.inputs)))
    if len(member.tools) > 1 and luck.hits("tools", 0.5):
        return _mutation("tools", member, tools=list(other_tools(asked, member, luck)))
    return _mutation("prompts", member, prompt=with_saying(member.prompt, luck))


def cross(asked: Asked, odds: Odds) -> Said:
    """The first team's topology with the second's prompts, where somebody there does the same otherwise."""
    first, second = asked.team, asked.second.team
    luck = Luck((odds.seed, "cross", asked.question, print_of(first.values()), print_of(second.values())))
    nodes = []
    for member in first.values():
        other = next((them for them in second.values() if them.role == member.role), None)
        if other is not None and other.prompt != member.prompt:
            nodes.append({"id": member.id, "subtask": "", "prompt": f"{member.prompt} {other.prompt}"})
    if not nodes or asked.repairs:
        member = luck.within(asked.repairs).pick("member", list(first.values()))
        prompt = with_saying(member.prompt, luck.within(asked.repairs))
        nodes = [{"id": member.id, "subtask": "", "prompt": prompt}]
    return {"topology": "first", "nodes": nodes}


def _advised(member: Member, craft: Craft, odds: Odds, luck: Luck) -> str:
    """The member's prompt, with one remedy of its role if luck has it; empty where it stays."""
    known = [remedy for remedy in craft.remedies(member.role) if not member.told(remedy)]
    if not known or not luck.hits(f"advice {member.id}", odds.baselines.advice):
        return ""
    return with_remedy(member.prompt, luck.pick(f"remedy {member.id}", known))


def _mutation(component: str, member: Member, **changed: object) -> Said:
    return {"component": component, "nodes": [{"id": member.id, **changed}]}
