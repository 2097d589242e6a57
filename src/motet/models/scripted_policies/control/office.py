"""The office's trade as its meta-model and judge know it: who is needed for a task, with which tools and words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from motet.models.scripted_policies.control.craft import Fault
from motet.models.scripted_policies.control.odds import DesignOdds, Luck
from motet.models.scripted_policies.control.reading import Asked, Blame, Member
from motet.models.scripted_policies.office import trade
from motet.models.scripted_policies.office.mistakes import shipped

# How a domain is named in ids and in subtasks.
_IDS = {
    "calendar": "calendar",
    "email": "mail",
    "analytics": "figures",
    "project_management": "projects",
    "customer_relationship_manager": "customers",
    "company_directory": "people",
}
_WORDS = {
    "calendar": "the calendar's events",
    "email": "the e-mails",
    "analytics": "the website's analytics",
    "project_management": "the project board",
    "customer_relationship_manager": "the customer records",
    "company_directory": "the company directory",
}
_TEXTS = {
    "worker": ("Look up what the task needs.", "Report exact values."),
    "critic": ("Say what is missing or wrong in the work.", "Be strict."),
    "integrator": ("Plan the calls that the task asks for.", "Plan nothing else."),
    "verifier": ("Check the plan and give it corrected.", "Compare each value with the findings."),
    "executor": ("Carry the plan out.", "Make no other call."),
}
_MISSING = re.compile(r"look up in the ([\w ]+?) what the task needs")
_HOLD = re.compile(r"hold ([a-z_]+)")
_IDLE = re.compile(r"My tools hold nothing that this task needs|I see no fault")
_MOST = 3  # workers too many in a plain team


class OfficeCraft:
    """The trade of ``scripted:office``."""

    helpers = ("critic", "verifier")

    def team(self, asked: Asked, *, odds: DesignOdds, luck: Luck) -> list[Member]:
        """A worker for each domain, an integrator, and where something can be changed an executor; a critic or verifier by luck."""
        domains = self._domains(asked)
        if len(domains) > 1 and luck.hits("short", odds.short):
            domains.remove(luck.pick("who", domains))
        others = [name for name in _IDS if name not in domains and self._reads(asked, name)]
        if others and luck.hits("idle", odds.idle):
            domains.append(luck.pick("idler", others))
        workers = [self._worker(asked, domain) for domain in domains] or [
            self._of("worker", id="look_up", tools=self._readers(asked))
        ]
        findings = [worker.id for worker in workers]
        team = list(workers)
        if "critic" in asked.roles and luck.hits("critic", odds.critic):
            team.append(self._of("critic", id="critic", inputs=findings))
            findings = [*findings, "critic"]
        team.append(self._of("integrator", id="plan", inputs=findings))
        last = "plan"
        if "verifier" in asked.roles and luck.hits("checked", odds.checked):
            team.append(self._of("verifier", id="verify", inputs=["plan", *(worker.id for worker in workers)]))
            last = "verify"
        writers = self._writers(asked, luck=luck, wrong=odds.wrong_tool)
        if writers:
            team.append(self._of("executor", id="act", tools=writers, inputs=[last]))
        return team

    def faults(self, question: str, outputs: Mapping[str, tuple[str, str]]) -> Sequence[Fault]:
        """What the office's trade sees."""
        return trade.faults(question, outputs)

    def idle(self, text: str) -> bool:
        """A worker that found nothing it was for, a critic that saw nothing."""
        return bool(_IDLE.search(text))

    def recruit(self, asked: Asked, blame: Blame) -> Member | None:
        """A worker for the domain that nobody looked in."""
        found = _MISSING.search(blame.remedy)
        domain = found[1].replace(" ", "_") if found else ""
        return self._worker(asked, domain) if domain in _IDS and self._reads(asked, domain) else None

    def hire(self, asked: Asked, role: str, *, luck: Luck) -> Member:
        """A worker holds what some domain needs; others hold nothing, or what writes."""
        if role == "worker":
            domains = self._domains(asked) or [name for name in _IDS if self._reads(asked, name)]
            return self._worker(asked, luck.pick("domain", domains)) if domains else self._of(role, id="helper")
        tools = self._writers(asked, luck=luck, wrong=0.0) if role == "executor" else ()
        return self._of(role if role in _TEXTS else "worker", id=role, tools=tools, role_name=role)

    def tool(self, blame: Blame) -> str:
        """The tool named in ``hold …``."""
        found = _HOLD.fullmatch(blame.remedy)
        return found[1] if found else ""

    def safe_in_subtask(self, remedy: str) -> bool:
        """Not what names a domain, since a subtask says where its worker looks."""
        return not re.search(r"director|calendar|mail|customer|project|analytics|event|task's", remedy)

    def remedies(self, role: str) -> Sequence[str]:
        """Those of the office's table."""
        known = shipped().mistakes.values()
        return [mistake.remedy for mistake in known if (role in mistake.only if role else mistake.alone > 0)]

    def _domains(self, asked: Asked) -> list[str]:
        return [domain for domain in trade.domains(asked.question) if self._reads(asked, domain)]

    def _reads(self, asked: Asked, domain: str) -> tuple[str, ...]:
        """The reading tools of ``domain``: those that the task needs, or all of them."""
        mine = [name for name, writes in asked.tools.items() if not writes and trade.domain_of(name) == domain]
        return tuple(trade.tools_for(asked.question, mine) or mine)

    def _readers(self, asked: Asked) -> tuple[str, ...]:
        return tuple(name for name, writes in asked.tools.items() if not writes)[: 2 * _MOST]

    def _writers(self, asked: Asked, *, luck: Luck, wrong: float) -> tuple[str, ...]:
        """The tool that the task is done with, or by luck another of its domain; for a task that is not understood, all."""
        writing = [name for name, writes in asked.tools.items() if writes]
        right = trade.tools_for(asked.question, writing)
        beside = [name for name in writing if name not in right and _same_domain(name, right)]
        if right and beside and luck.hits("wrong_tool", wrong):
            return (luck.pick("beside", beside),)
        return tuple(right or writing)

    def _worker(self, asked: Asked, domain: str) -> Member:
        member = self._of("worker", id=_IDS[domain], tools=self._reads(asked, domain))
        return replace(member, subtask=f"Look up what the task needs in {_WORDS[domain]}.")

    def _of(
        self, role: str, *, id: str, tools: Iterable[str] = (), inputs: Iterable[str] = (), role_name: str = ""
    ) -> Member:
        subtask, prompt = _TEXTS[role]
        return Member(id, role_name or role, subtask, prompt, tuple(tools), tuple(inputs))


def _same_domain(name: str, others: Iterable[str]) -> bool:
    return any(trade.domain_of(name) == trade.domain_of(other) for other in others)
