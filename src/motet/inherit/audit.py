"""The audit: what can be told of a candidate's output without knowing the right one, for the judge and for ranking.

A role set names its auditor: ``general``, ``hotpotqa``, ``workbench``, or a user's ``module:function`` with the signature of ``audit_general``. An auditor reads the
execution alone: the outputs, and what the tools returned to the nodes, inherited results included. It never raises over what a model wrote.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from motet.errors import InputError
from motet.inherit.execution import Execution
from motet.inherit.roles import RoleSet
from motet.load import load_object
from motet.runs.run import ToolUse
from motet.value import Value
from motet.words import clipped, shown
from motet.worlds.world import Write

_LINES, _WIDTH = 12, 200  # of ``problems`` and of ``backed``, each: the judge is sent both


class Audit(Value):
    """What an auditor found.

    ``valid``: the output has the form that was asked for, and came about as it should. ``problems``: what is wrong with that, and after it what else gives reason to doubt.
    ``backed``: which tool results bear which part. Both are short lines, few of them.
    """

    valid: bool
    problems: tuple[str, ...] = ()
    backed: tuple[str, ...] = ()

    def words(self) -> str:
        """The audit as the judge reads it."""
        lines = [f"the output is {'valid' if self.valid else 'invalid'}"]
        lines += [f"- problem: {line}" for line in self.problems]
        lines += [f"- backed: {line}" for line in self.backed]
        return "\n".join(lines)


Auditor: TypeAlias = Callable[..., Audit]


def audit(execution: Execution, *, roles: RoleSet, writes: Sequence[Write] = ()) -> Audit:
    """Audit ``execution`` as ``roles`` asks for. ``writes`` are those that it did or planned, in order.

    Raises InputError where the auditor is a user's and cannot be loaded, or gives no Audit.
    """
    found = _auditor(roles.audit)(execution, roles=roles, writes=writes)
    if not isinstance(found, Audit):
        raise InputError(f"the auditor {roles.audit} gave {type(found).__name__}, not an Audit")
    return Audit(valid=found.valid, problems=_few(found.problems), backed=_few(found.backed))


def audit_general(execution: Execution, *, roles: RoleSet, writes: Sequence[Write] = ()) -> Audit:
    """There is an output, it does not look cut off, and no node failed. Backed by the tools that gave something, by node."""
    faults = _common_faults(execution)
    backed = [
        f"{id_}: {', '.join(f'{tool} ×{number}' for tool, number in sorted(used.items()))}"
        for id_, used in _answered(execution).items()
    ]
    return Audit(valid=not faults, problems=(*faults, *_tool_errors(execution)), backed=tuple(backed))


def audit_hotpotqa(execution: Execution, *, roles: RoleSet, writes: Sequence[Write] = ()) -> Audit:
    """There are the two lines that were asked for, and each cited sentence stands in what a search returned."""
    faults = _common_faults(execution)
    if execution.output is None:
        return Audit(valid=False, problems=tuple(faults))
    answer, citations, wrong = _read_answer(execution.output)
    doubts, backed = [], []
    retrieved = _retrieved(execution)
    for title, number in citations:
        citation = json.dumps([title, number], ensure_ascii=False)
        sentences = retrieved.get(title)
        if sentences is None:
            near = next((known for known in retrieved if known.casefold() == title.casefold()), None)
            doubts.append(f"{citation} was never retrieved{f'; the title is {shown(near)}' if near else ''}")
        elif number not in sentences:
            doubts.append(
                f"{citation} does not exist: the paragraph has the sentences 0 to {max(sentences, default=0)}"
            )
        else:
            backed.append(f"{citation} was retrieved by {sentences[number].node}: {sentences[number].text}")
    doubts += _unsupported(answer, citations, retrieved)
    return Audit(
        valid=not faults and not wrong,
        problems=(*faults, *wrong, *doubts, *_tool_errors(execution)),
        backed=tuple(backed),
    )


def audit_workbench(execution: Execution, *, roles: RoleSet, writes: Sequence[Write] = ()) -> Audit:
    """No call was left failed. Plan and calls are compared by tool and number, and each id and address that was written looked for in what tools returned; a difference is a
    doubt, since plans are free text and a task may give an id itself.
    """
    faults = _common_faults(execution)
    executor = execution.outcomes[execution.workflow.output]
    calls = executor.trace
    for place, call in enumerate(calls):
        later = {other.tool for other in calls[place + 1 :] if not other.error}
        if call.error and call.tool not in later:
            faults.append(f"{call.tool} failed and was not made again: {call.text}")
        elif not call.error and len(call.text) < _WIDTH and _REFUSED.search(call.text):
            faults.append(f"{call.tool} {_arguments(call.arguments)} changed nothing: {call.text}")
    doubts = _compare_plan(execution, writes)
    backed = []
    for write in writes:
        for name, value in write.arguments.items():
            if isinstance(value, str) and (_ADDRESS.fullmatch(value) or _NUMBER.fullmatch(value)):
                source = next(_holders(execution, value, writes), None)
                if source:
                    backed.append(f"{write.tool} {name}={value}: {source}")
                else:
                    doubts.append(f"{write.tool} {name}={value}: no tool returned it")
    return Audit(valid=not faults, problems=(*faults, *doubts), backed=tuple(dict.fromkeys(backed)))


_SHIPPED: Mapping[str, Auditor] = {
    "general": audit_general,
    "hotpotqa": audit_hotpotqa,
    "workbench": audit_workbench,
}


def _auditor(name: str) -> Auditor:
    return _SHIPPED[name] if name in _SHIPPED else load_object(name)  # type: ignore[return-value]  # what it gives is checked


# Any output


def _common_faults(execution: Execution) -> list[str]:
    faults = [f"{outcome.node} {outcome.ended}" for outcome in execution.errors]
    output = execution.output
    if output is None or not output.strip():
        faults.append("there is no output")
    # An agent that was cut off at its token limit need not look so; this tells only what one can see.
    elif output.rstrip()[-1] in ",;([{" or len(re.findall(r"^\s*```", output, re.MULTILINE)) % 2:
        faults.append(f"the output looks cut off: …{output.rstrip()[-40:]}")
    return faults


def _tool_errors(execution: Execution) -> list[str]:
    return [f"{node}: {call.tool} failed: {call.text}" for node, call in _calls(execution) if call.error]


def _calls(execution: Execution) -> Iterator[tuple[str, ToolUse]]:
    for id_, outcome in execution.outcomes.items():
        for call in outcome.trace:
            yield id_, call


def _answered(execution: Execution) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for id_, call in _calls(execution):
        if not call.error:
            found.setdefault(id_, Counter())[call.tool] += 1
    return found


def _few(lines: Sequence[str]) -> tuple[str, ...]:
    kept = [clipped(line, width=_WIDTH) for line in lines]
    return tuple(kept if len(kept) <= _LINES else [*kept[: _LINES - 1], f"and {len(kept) - _LINES + 1} more"])


# Answers with citations

_ANSWER = re.compile(r"^[\s*_#>-]*answer[\s*_]*:[ \t*_]*(.*?)[ \t*_]*$", re.IGNORECASE | re.MULTILINE)
_FACTS = re.compile(r"^[\s*_#>-]*supporting[ _]facts?[\s*_]*:[\s*_]*", re.IGNORECASE | re.MULTILINE)
_TITLE = re.compile(r"\d+\. (.+)")
_SENTENCE = re.compile(r" {3}\[(\d{1,6})\] ?(.*)")
_LONGEST = 20_000  # characters at the end of an output


class _Sentence(NamedTuple):
    """A sentence that a search returned, and the node that it was returned to."""

    text: str
    node: str


def _read_answer(output: str) -> tuple[str, list[tuple[str, int]], list[str]]:
    """The answer, its citations, and what is wrong with the form."""
    output = output[-_LONGEST:]
    wrong: list[str] = []
    labels = list(_FACTS.finditer(output))
    stated = _ANSWER.findall(output[: labels[-1].start()] if labels else output)
    answer = stated[-1].strip() if stated else ""
    if not answer:
        wrong.append("there is no line `Answer: …`" if not stated else "the answer is empty")
    if not labels:
        return answer, [], [*wrong, "there is no line `Supporting facts: …`"]
    try:
        listed, _ = json.JSONDecoder().raw_decode(output, labels[-1].end())
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list):
        return answer, [], [*wrong, 'the supporting facts are no list of the form [["title", 0], …]']
    citations: dict[tuple[str, int], None] = {}
    for item in listed:
        match item:
            case [str(title), int(number)] if not isinstance(number, bool):
                citations[title, number] = None
            case _:
                wrong.append(f'{json.dumps(item, ensure_ascii=False)[:80]} is no citation of the form ["title", 0]')
    if not listed:
        wrong.append("no sentence is cited")
    return answer, list(citations), wrong


def _retrieved(execution: Execution) -> dict[str, dict[int, _Sentence]]:
    """The numbered sentences of each paragraph that a tool returned to a node, by title."""
    found: dict[str, dict[int, _Sentence]] = {}
    for node, call in _calls(execution):
        here: dict[int, _Sentence] | None = None
        for line in () if call.error else call.text.splitlines():
            if sentence := _SENTENCE.match(line):
                if here is not None:
                    here.setdefault(int(sentence[1]), _Sentence(sentence[2], node))
            elif title := _TITLE.fullmatch(line):
                here = found.setdefault(title[1], {})
    return found


def _unsupported(
    answer: str, citations: Sequence[tuple[str, int]], retrieved: Mapping[str, Mapping[int, _Sentence]]
) -> list[str]:
    """Whether the words of the answer stand in no cited sentence; of yes and no there is nothing to look for."""
    words = _plain(answer)
    if not words or words in ("yes", "no"):
        return []
    for title, number in citations:
        sentence = retrieved.get(title, {}).get(number)
        if sentence is not None and f" {words} " in f" {_plain(title)}   {_plain(sentence.text)} ":
            return []
    return [f"the answer {shown(answer)} stands in no cited sentence"]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# Plans of calls

_REFUSED = re.compile(
    r"\bnot (?:found|provided|valid)\b|\binvalid\b|\bmissing\b|\bplease (?:provide|choose)\b|\bmust be one of\b", re.I
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER = re.compile(r"\d{4,}")
_NUMBERED = re.compile(r"^\s*(?:\*\*)?\d{1,3}[.)]\s*(.+)$", re.MULTILINE)
_NOTHING = re.compile(r"\bnothing (?:is )?to (?:do|be done)\b|\bno (?:calls?|action)\b", re.IGNORECASE)


def _compare_plan(execution: Execution, writes: Sequence[Write]) -> list[str]:
    """How the calls that were made differ from the numbered ones of the plan: by tool and number, not by arguments."""
    executor = execution.workflow.by_id[execution.workflow.output]
    plan = next((text for id_ in executor.inputs if (text := execution.outcomes[id_].output)), None)
    if plan is None:
        return []
    trace = execution.outcomes[executor.id].trace
    written = Counter(_wire(write.tool) for write in writes)
    reads = Counter(name for call in trace if not call.error and (name := _wire(call.tool)) not in written)
    known = sorted({*map(_wire, executor.tools), *written, *reads})
    planned: Counter[str] = Counter()
    problems = []
    for line in _NUMBERED.findall(plan):
        words = _wire(line)
        named = [name for name in known if name in words]
        if named:
            tool = min(named, key=lambda name: (words.index(name), -len(name)))
            planned[tool] += 1
        elif "(" in line:
            problems.append(f"the plan names no tool that {executor.id} has: {line}")
    if not planned and not problems and not _NOTHING.search(plan):
        problems.append(f"the plan has no numbered calls: {plan}")
        return problems
    for tool, number in sorted((planned - written - reads).items()):
        problems.append(f"planned and not made: {tool}{f' ×{number}' if number > 1 else ''}")
    for tool, number in sorted((written - planned).items()):
        problems.append(f"made and not planned: {tool}{f' ×{number}' if number > 1 else ''}")
    return problems


def _holders(execution: Execution, value: str, writes: Sequence[Write]) -> Iterator[str]:
    """Which reads returned ``value``: tool and node."""
    written = {_wire(write.tool) for write in writes}
    whole = re.compile(rf"(?<![\w@]){re.escape(value)}(?![\w@])", re.IGNORECASE)
    for node, call in _calls(execution):
        if _wire(call.tool) not in written and not call.error and whole.search(call.text):
            yield f"in what {call.tool} returned to {node}"


def _wire(name: str) -> str:
    """A tool's name or a line with one, with every separator alike: a plan may say ``calendar.create_event``."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def _arguments(arguments: Mapping[str, JsonValue]) -> str:
    return json.dumps(arguments, ensure_ascii=False)[:80]
