"""The meta-model: designs a team, drops who gave nothing, chooses one edit, designs anew. What it knows of a task is its craft's; what went wrong it reads in the critique."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pydantic import JsonValue

from motet.canonical import digest
from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.judge import NO_REASON, USELESS
from motet.models.scripted_policies.control.odds import DesignOdds, EditOdds, Luck, Odds
from motet.models.scripted_policies.control.reading import Asked, Blame, Entry, Member, Said

_SAYINGS = ("Work step by step.", "Read everything twice.", "Keep to the task.", "Leave nothing out.", "Be exact.")
_NEW_TEAMS = 6  # how often a team is drawn until one is different


def design(asked: Asked, craft: Craft, odds: Odds) -> Said:
    """A first team."""
    luck = Luck((odds.seed, "design", asked.question))
    team = craft.team(asked, odds=odds.design, luck=luck.within(asked.repairs) if _was_tried(asked) else luck)
    return _design(_spoilt(asked, team, odds.design, luck), "The task's parts, one member each.")


def redesign(asked: Asked, craft: Craft, odds: Odds) -> Said:
    """A team other than the best so far; who did well stays as it is, and who is blamed is told the remedy."""
    luck = Luck((odds.seed, "redesign", asked.question, print_of(asked.team.values())))
    first = asked.repairs if _was_tried(asked) else 0
    team: list[Member] = []
    for number in range(first, first + _NEW_TEAMS):
        team = [
            _learnt(member, asked) for member in craft.team(asked, odds=odds.redesign, luck=luck.within("team", number))
        ]
        if _shape(team) != _shape(asked.team.values()):
            break
    else:
        team[0] = replace(team[0], prompt=with_saying(team[0].prompt, luck.within(first)))
    return _design(_spoilt(asked, team, odds.redesign, luck), "Another division of the work, with what was learnt.")


def select(asked: Asked, odds: Odds) -> Said:
    """Whom to drop: the first who is said to have given nothing, and sometimes one who is said to add little."""
    luck = Luck((odds.seed, "select", asked.question, asked.said))
    for blame in asked.blamed:
        useless = blame.problem.startswith(USELESS)
        little = blame.problem.startswith(NO_REASON) and luck.hits("little", odds.edit.unhelpful)
        if blame.node in asked.removable and (useless or little):
            return {"drop": [blame.node]}
    return {"drop": []}


def edit(asked: Asked, craft: Craft, odds: Odds) -> Said:
    """One entry of the menu with its texts: mostly what mends the worst that is said to be wrong, else any."""
    luck = Luck((odds.seed, "edit", asked.question, print_of(asked.team.values()), asked.said))
    if luck.hits("invalid", odds.edit.invalid) and (not asked.repairs or luck.hits("stubborn", odds.edit.stubborn)):
        return {"choice": 0}
    if asked.repairs < 2 and not luck.hits("unhelpful", odds.edit.unhelpful):
        for blame in asked.blamed:
            ways = list(mending(asked, blame, craft, luck))
            if len(ways) > 1 and luck.hits("elsewhere", odds.edit.elsewhere):
                return luck.pick("way", ways[1:])
            if ways:
                return ways[0]
    return _any(asked, craft, odds.edit, luck.within(asked.repairs))


def mending(asked: Asked, blame: Blame, craft: Craft, luck: Luck) -> Iterator[Said]:
    """The replies that mend what ``blame`` says, the surest first."""
    menu = asked.menu
    if not blame.node:
        new = craft.recruit(asked, blame)
        if new is not None:
            entries = [e for e in menu if e.kind == "add_node" and e.role == new.role and e.how == "read by"]
            readers = [e for e in entries if asked.team[e.node].role not in (new.role, "critic")] or entries
            yield from (_filled(asked, entry, new) for entry in readers[:1])
            helpers = [e for e in menu if e.kind == "tools" and asked.team[e.node].role == new.role]
            yield from (
                {"choice": e.number, "tools": list(dict.fromkeys((*asked.team[e.node].tools, *new.tools)))}
                for e in helpers[:1]
            )
        return
    member = asked.team.get(blame.node)
    if member is None:
        return
    tool = craft.tool(blame)
    if tool in asked.tools:
        yield from ({"choice": e.number, "tools": [*member.tools, tool]} for e in menu if _at(e, "tools", member))
    elif not blame.remedy:
        yield from ({"choice": e.number} for e in menu if _at(e, "remove_node", member))
    else:
        if not member.told(blame.remedy):
            yield from (
                {"choice": e.number, "prompt": with_remedy(member.prompt, blame.remedy)}
                for e in menu
                if _at(e, "prompt", member)
            )
            if craft.safe_in_subtask(blame.remedy):
                yield from (
                    {"choice": e.number, "subtask": with_remedy(member.subtask, blame.remedy)}
                    for e in menu
                    if _at(e, "subtask", member)
                )
        # Somebody who looks at what goes into its work, or at what comes out of it.
        checks = [e for e in menu if e.kind == "insert_node" and e.role in craft.helpers]
        near = [e for e in checks if e.node == member.id or e.source == member.id]
        yield from (_filled(asked, e, craft.hire(asked, e.role, luck=luck)) for e in near[:1])


def _any(asked: Asked, craft: Craft, odds: EditOdds, luck: Luck) -> Said:
    """Any entry, each kind as likely as the others."""
    kinds = sorted({entry.kind for entry in asked.menu})
    kind = luck.pick("kind", kinds)
    entry = luck.pick("entry", [entry for entry in asked.menu if entry.kind == kind])
    member = asked.team[entry.node]
    match kind:
        case "prompt":
            # The new text stands in place of the old one, remedies and all.
            forgets = luck.hits("forgets", odds.forgets)
            return {"choice": entry.number, "prompt": with_saying("" if forgets else member.prompt, luck)}
        case "subtask":
            return {"choice": entry.number, "subtask": with_saying(member.subtask, luck)}
        case "tools":
            return {"choice": entry.number, "tools": list(other_tools(asked, member, luck))}
        case "add_node" | "insert_node":
            return _filled(asked, entry, craft.hire(asked, entry.role, luck=luck))
    return {"choice": entry.number}


def other_tools(asked: Asked, member: Member, luck: Luck) -> tuple[str, ...]:
    """One tool more, or one less where it holds several or all."""
    holds = asked.roles[member.role].tools
    more = [
        name
        for name, writes in asked.tools.items()
        if name not in member.tools and (writes if holds == "write" else not writes)
    ]
    fewer = len(member.tools) > 1 and luck.hits("fewer", 0.5)
    return (*member.tools, luck.pick("tool", more)) if more and not fewer else member.tools[:-1]


def _filled(asked: Asked, entry: Entry, new: Member) -> Said:
    """The reply that makes ``new`` the node of ``entry``."""
    texts: Said = {"prompt": new.prompt, "subtask": new.subtask, "tools": list(new.tools)}
    return {"choice": entry.number, "id": free_id(asked, new.id), **{name: texts[name] for name in entry.fill}}


def free_id(asked: Asked, wanted: str) -> str:
    """``wanted``, or with a number where somebody has it."""
    number, id_ = 2, wanted
    while id_ in asked.team:
        id_, number = f"{wanted}_{number}", number + 1
    return id_


def _at(entry: Entry, kind: str, member: Member) -> bool:
    return entry.kind == kind and entry.node == member.id


def _learnt(member: Member, asked: Asked) -> Member:
    """``member`` with the texts of the one who did the same before, and the remedies for what its role is blamed for."""
    before = next((old for old in asked.team.values() if (old.role, old.tools) == (member.role, member.tools)), None)
    kept = member if before is None else replace(member, subtask=before.subtask, prompt=before.prompt)
    for blame in asked.blamed:
        blamed = asked.team.get(blame.node)
        if blamed is not None and blamed.role == kept.role and blame.remedy and not kept.told(blame.remedy):
            kept = replace(kept, prompt=with_remedy(kept.prompt, blame.remedy))
    return kept


def with_remedy(text: str, remedy: str) -> str:
    """``text`` with ``remedy`` as one more sentence."""
    return f"{text} {remedy[0].upper()}{remedy[1:]}."


def with_saying(text: str, luck: Luck) -> str:
    """``text`` with one more sentence, which mends nothing."""
    new = [saying for saying in _SAYINGS if saying not in text]
    return f"{text} {luck.pick('saying', new or _SAYINGS)}".strip()


def _design(team: Sequence[Member], rationale: str) -> Said:
    nodes: list[JsonValue] = [
        {
            "id": member.id,
            "role": member.role,
            "subtask": member.subtask,
            "prompt": member.prompt,
            "tools": list(member.tools),
            "inputs": list(member.inputs),
        }
        for member in team
    ]
    return {"rationale": rationale, "nodes": nodes}


def _spoilt(asked: Asked, team: Sequence[Member], odds: DesignOdds, luck: Luck) -> list[Member]:
    """``team``, or by luck the same with something that the graph's rules forbid, which goes away when it is told."""
    team = list(team)
    if not luck.hits("invalid", odds.invalid) or (asked.repairs and not luck.hits("stubborn", odds.stubborn)):
        return team
    writing = [name for name, writes in asked.tools.items() if writes]
    readers = [index for index, member in enumerate(team) if asked.roles[member.role].tools == "read"]
    match luck.pick("how", ("input", "tool", "prompt", "end")):
        case "tool" if readers and writing:
            team[readers[0]] = replace(team[readers[0]], tools=(*team[readers[0]].tools, luck.pick("tool", writing)))
        case "prompt":
            team[-1] = replace(team[-1], prompt="")
        case "end":
            team[-1] = replace(team[-1], inputs=())
        case _:
            team[-1] = replace(team[-1], inputs=(*team[-1].inputs, "archive"))
    return team


def _was_tried(asked: Asked) -> bool:
    return asked.repairs > 0 and "tried already" in asked.request.messages[-1].content


def print_of(team: Iterable[Member]) -> str:
    """A hash of all that is in a team."""
    return digest([_parts(member) for member in team])


def _shape(team: Iterable[Member]) -> dict[str, list[JsonValue]]:
    return {member.id: _parts(member) for member in team}


def _parts(member: Member) -> list[JsonValue]:
    return [member.id, member.role, member.subtask, member.prompt, list(member.tools), list(member.inputs)]
