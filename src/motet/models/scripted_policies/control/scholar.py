"""The scholars' trade as its meta-model and judge know it: who is needed for a question, with which tools and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from motet.models.scripted_policies.control.craft import Fault
from motet.models.scripted_policies.control.odds import DesignOdds, Luck
from motet.models.scripted_policies.control.reading import Asked, Blame, Member
from motet.models.scripted_policies.scholar import trade
from motet.models.scripted_policies.scholar.lore import shipped

_TEXTS = {
    "planner": ("Say what has to be found, and in which order.", "Be brief."),
    "researcher": ("Find the paragraphs that answer the question.", "Search by names."),
    "verifier": ("Check whether the evidence answers the question.", "Be strict."),
    "synthesizer": ("Answer the question.", "Be brief."),
}
# Who does the same in a role set that is not the scholars' own.
_ELSEWHERE = {"researcher": "worker", "verifier": "critic", "synthesizer": "integrator"}


class ScholarCraft:
    """The trade of ``scripted:scholar``."""

    helpers = ("researcher", "verifier")

    def team(self, asked: Asked, *, odds: DesignOdds, luck: Luck) -> list[Member]:
        """A researcher, for comparisons two, and a synthesizer; by luck a planner, one researcher more who goes on from the first, and a verifier."""
        hints = trade.hints(asked.question, self._readers(asked))
        planned = "planner" in asked.roles and luck.hits("critic", odds.critic)
        plan = ["plan"] if planned else []
        team = [self._of(asked, "planner", id="plan")] if planned else []
        names = hints.names[:2] if hints.compares and not luck.hits("short", odds.short) else ()
        tools = self._tools(asked)
        if len(names) == 2:
            found = ["first", "second"]
            for id_, name in zip(found, names, strict=True):
                team.append(
                    self._of(asked, "researcher", id=id_, subtask=f"Find the page of {name}.", tools=tools, inputs=plan)
                )
        else:
            found = ["research"]
            team.append(self._of(asked, "researcher", id="research", tools=tools, inputs=plan))
        if luck.hits("idle", odds.idle):
            more = "Look for what is still missing."
            team.append(self._of(asked, "researcher", id="more", subtask=more, tools=tools, inputs=[*plan, *found]))
            found = [*found, "more"]
        checked = luck.hits("checked", odds.checked) and self._role(asked, "verifier") in asked.roles
        if checked:
            team.append(self._of(asked, "verifier", id="review", inputs=found))
        team.append(self._of(asked, "synthesizer", id="answer", inputs=[*found, *(["review"] if checked else [])]))
        return team

    def faults(self, question: str, outputs: Mapping[str, tuple[str, str]]) -> Sequence[Fault]:
        """What the scholars' trade sees."""
        own = {there: here for here, there in _ELSEWHERE.items()}
        return trade.faults(question, {id_: (own.get(role, role), text) for id_, (role, text) in outputs.items()})

    def idle(self, text: str) -> bool:
        """A report without a sentence."""
        return trade.is_idle(text)

    def recruit(self, asked: Asked, blame: Blame) -> Member | None:
        """Nobody: there is always a researcher, who may look for anything."""
        return None

    def hire(self, asked: Asked, role: str, *, luck: Luck) -> Member:
        """A researcher searches; others hold nothing."""
        here = next((name for name, there in _ELSEWHERE.items() if there == role and role in asked.roles), role)
        known = here if here in _TEXTS else "researcher"
        searches = asked.roles[role].tools == "read"
        subtask, prompt = _TEXTS[known]
        return Member(role, role, subtask, prompt, self._tools(asked) if searches else ())

    def tool(self, blame: Blame) -> str:
        """None is ever named."""
        return ""

    def safe_in_subtask(self, remedy: str) -> bool:
        """Always: a subtask narrows nothing here."""
        return True

    def remedies(self, role: str) -> Sequence[str]:
        """Those of the scholars' table."""
        own = {there: here for here, there in _ELSEWHERE.items()}.get(role, role)
        known = shipped().mistakes.values()
        return [mistake.remedy for mistake in known if (own in mistake.only if own else mistake.alone > 0)]

    def _readers(self, asked: Asked) -> list[str]:
        return [name for name, writes in asked.tools.items() if not writes]

    def _tools(self, asked: Asked) -> tuple[str, ...]:
        readers = self._readers(asked)
        return trade.hints(asked.question, readers).tools or tuple(readers)

    def _role(self, asked: Asked, role: str) -> str:
        # Another set may have a role of the same name that reads others, as the general verifier does.
        return role if "researcher" in asked.roles else _ELSEWHERE.get(role, role)

    def _of(
        self,
        asked: Asked,
        role: str,
        *,
        id: str,
        subtask: str = "",
        tools: Iterable[str] = (),
        inputs: Iterable[str] = (),
    ) -> Member:
        usual, prompt = _TEXTS[role]
        return Member(id, self._role(asked, role), subtask or usual, prompt, tuple(tools), tuple(inputs))
