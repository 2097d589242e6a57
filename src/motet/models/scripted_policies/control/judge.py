"""The judge: marks from the faults that it sees and the audit's doubts, with a committed share of oversights, false blame and wavering."""

from __future__ import annotations

from motet.canonical import digest
from motet.models.scripted_policies.control.craft import Craft
from motet.models.scripted_policies.control.odds import Luck, Odds
from motet.models.scripted_policies.control.reading import Asked, Blame, Said

USELESS = "it gave nothing that anybody could use"
NO_REASON = "its work adds little to that of the others"


def verdict(asked: Asked, craft: Craft, odds: Odds) -> Said:
    """The reply to a judge's request."""
    rates, outputs = odds.judge, asked.outputs
    work = digest([[member.id, member.role, outputs.get(member.id, "")] for member in asked.team.values()])
    luck = Luck((odds.seed, "judge", asked.question, work))
    seen = [blame for blame in _faults(asked, craft) if not luck.hits(f"{blame.node} {blame.problem}", rates.misses)]
    idle = [Blame(id_, USELESS, "") for id_, text in outputs.items() if craft.idle(text)]
    silent = [Blame(id_, "it gave no output", "") for id_ in asked.team if id_ not in outputs]
    fair = {blame.node for blame in (*seen, *idle, *silent)}
    slandered = [
        Blame(id_, NO_REASON, "")
        for id_ in asked.team
        if id_ not in fair and luck.hits(f"slander {id_}", rates.blames / len(asked.team))
    ]
    valid, doubts = asked.audit
    counted = len(seen) + len(silent)
    mark = rates.clean - bool(counted) * rates.first - max(0, counted - 1) * rates.further
    mark -= rates.doubt * min(len(doubts), 3) + len(slandered) * rates.step
    if luck.hits("waver", rates.waver):
        mark += rates.step * luck.pick("by", (-2, -1, 1, 2))
    if not valid:
        mark = min(mark, rates.invalid)
    mark = max(3, min(98, mark))
    blamed = [*seen, *silent, *slandered, *idle]
    missing = [blame for blame in blamed if not blame.node]
    named = [blame for blame in blamed if blame.node]
    kept = [id_ for id_ in asked.team if id_ not in {blame.node for blame in named}]
    return {
        "quality_score": mark,
        "completion_likelihood": max(0, mark - 2 * rates.step if doubts else mark),
        "requirement_coverage": max(0, mark - rates.further * len(missing)),
        "artifact_grounding": max(0, mark - rates.doubt * len(doubts)),
        "critique": _critique(kept, named, missing, valid=valid),
        "keep": list(kept),
        "fix": [{"node": blame.node, "problem": _words(blame)} for blame in named],
    }


def _faults(asked: Asked, craft: Craft) -> list[Blame]:
    """What the trade sees; of somebody whose sources are not shown to their end, nothing is said."""
    outputs = {id_: (asked.team[id_].role, text) for id_, text in asked.outputs.items()}
    found = [Blame(fault.node, fault.problem, fault.remedy) for fault in craft.faults(asked.question, outputs)]
    cut = {id_ for id_, text in asked.outputs.items() if asked.is_cut(text)}
    unsure = {member.id for member in asked.team.values() if cut & {member.id, *member.inputs}}
    return [blame for blame in found if blame.node not in unsure]


def _critique(kept: list[str], named: list[Blame], missing: list[Blame], *, valid: bool) -> str:
    lines = [f"{', '.join(kept)} did what was asked." if kept else "Nobody did what was asked."]
    lines += [f"{blame.node}: {blame.problem}." for blame in named]
    if not named and not missing:
        lines.append("I see nothing wrong with the output." if valid else "The output is not of the right form.")
    return "\n".join([" ".join(lines), *(f"Missing: {_words(blame)}" for blame in missing)])


def _words(blame: Blame) -> str:
    return f"{blame.problem}; to do: {blame.remedy}" if blame.remedy else blame.problem
