"""Events in words: one line for each, for the plain progress and for the timeline of ``motet show``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from motet.cli.terminal import one_line

Payload: TypeAlias = Mapping[str, Any]
_WIDTH = 110


def sentence(kind: str, payload: Payload) -> str:
    """One line of at most some 150 characters that says what happened. Kinds that are not known here are shown as they are."""
    tell = _TELL.get(kind)
    if tell is not None:
        try:
            return one_line(tell(payload), width=160)
        except (AttributeError, KeyError, TypeError, ValueError):
            # An event written by another version: shown by its parts.
            pass
    return one_line(f"{kind} {parts(payload)}".strip(), width=160)


def call_text(tool: object, arguments: object, *, width: int = 80) -> str:
    """A tool call such as ``search(query="motet")``."""
    inside = parts(arguments, joint=", ") if isinstance(arguments, Mapping) else str(arguments)
    return f"{tool}({one_line(inside, width=width)})"


def parts(payload: Mapping[str, Any], *, joint: str = " ") -> str:
    """``key=value`` pairs."""
    return joint.join(
        f"{key}={value!r}" if isinstance(value, str) else f"{key}={value}" for key, value in payload.items()
    )


def counted(number: int, what: str) -> str:
    """A number of things, such as 1 call or 2 calls."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def tokens_text(prompt: int | None, completion: int | None) -> str:
    """Tokens of one call; what is unknown is called so."""
    if prompt is None and completion is None:
        return "unknown tokens"
    shown = ["unknown" if count is None else f"{count:,}" for count in (prompt, completion)]
    return f"{shown[0]} + {shown[1]} tokens"


def _replied(payload: Payload) -> str:
    text = f"{payload['role']}: {tokens_text(payload['prompt'], payload['completion'])}"
    if payload.get("replayed"):
        return f"{text}, from the journal"
    attempts = f", {payload['attempts']} attempts" if payload.get("attempts", 1) > 1 else ""
    return f"{text} in {payload['seconds']:.1f} s{attempts}"


def _tool_replied(payload: Payload) -> str:
    outcome = "failed" if payload["error"] else f"{payload['characters']:,} characters"
    when = "from the journal" if payload.get("replayed") else f"in {payload['seconds']:.1f} s"
    return f"{payload['tool']}: {outcome} {when}: {one_line(payload['text'], width=_WIDTH)}"


def _step(payload: Payload) -> str:
    text = f"step {payload['step']}"
    if payload.get("answer") is not None:
        return f"{text}: answered"
    if payload.get("calls"):
        return f"{text}: called {', '.join(payload['calls'])}"
    return f"{text}: {payload['problem']}" if payload.get("problem") else text


def _finished(payload: Payload) -> str:
    error = f": {payload['error']}" if payload.get("error") else ""
    return f"task {payload['status']}{error}"


def _round(payload: Payload) -> str:
    nodes = payload["nodes"]
    # A list that was too long for an event is told by its size.
    team = f"a team of {', '.join(node['id'] for node in nodes)}" if isinstance(nodes, list) else "a large team"
    text = f"round {payload['round']}, {origin_words(payload)}"
    if payload["change"] and payload["origin"] not in ("initial", "restart"):
        first, *rest = payload["change"].splitlines()
        return f"{text}: {one_line(first, width=_WIDTH)}" + (f" (and {len(rest)} more)" if rest else "")
    return f"{text}: {team}"


def origin_words(payload: Payload) -> str:
    """How a team came about, such as ``edit prompt``; ``dropped`` and ``edits`` say what was done to the one before."""
    kinds = [*(["drop"] if payload["dropped"] else []), *(kind.replace("_", " ") for kind in payload["edits"])]
    return f"{payload['origin']} {' + '.join(kinds)}".strip()


def _node_ran(payload: Payload) -> str:
    changed = payload["changed"]
    determinants = [line.partition(":")[0] for line in changed] if isinstance(changed, list) else []
    names = ", ".join(dict.fromkeys(determinants))
    return f"runs: {payload['why']}" + (f": {names}" if names else "")


def _judged(payload: Payload) -> str:
    marks = f"quality {payload['quality']}, coverage {payload['coverage']}, grounding {payload['grounding']}"
    blamed = f"; to blame: {', '.join(dict.fromkeys(payload['blamed']))}" if payload["blamed"] else ""
    return f"the judge: {marks}{blamed}; it says: {one_line(payload['critique'], width=70)}"


def _audited(payload: Payload) -> str:
    valid = "the output is valid" if payload["valid"] else "the output is not valid"
    writes = f"; a plan of {counted(payload['writes'], 'write')}" if payload["writes"] else ""
    problems = payload["problems"]
    told = f": {'; '.join(problems)}" if isinstance(problems, list) and problems else ""
    return f"the audit: {valid}{writes}{told}"


def _chosen(payload: Payload) -> str:
    quality = "no mark" if payload["quality"] is None else f"quality {payload['quality']}"
    writes = f", {counted(payload['writes'], 'write')} to carry out" if payload["writes"] else ""
    return f"chose the team of round {payload['round']} ({quality}{writes})"


def _steps(payload: Payload) -> str:
    first, last = payload["steps"]
    return f"step {first}" if first == last else f"steps {first} to {last}"


def _noted(payload: Payload) -> str:
    text = (
        f"note {payload['peer']}.{payload['episode']} on its {_steps(payload)}: {counted(payload['claims'], 'claim')}"
    )
    refused = f", {payload['refused']:,} refused" if payload["refused"] else ""
    by_rule = ", extracted by rule" if payload["status"] == "degraded" else ""
    answer = f"; it may be {one_line(payload['candidate'], width=60)}" if payload["candidate"] else ""
    return f"{text}{refused}{by_rule}{answer}"


def _heard(payload: Payload) -> str:
    titles = f"; by title {', '.join(payload['titles'])}" if payload["titles"] else ""
    return f"is shown {', '.join(payload['notes']) or 'no note whole'}{titles}"


def _ended(payload: Payload) -> str:
    """How a member of a team ended."""
    text = f"{payload['peer']} {payload['status']}"
    if payload.get("failure"):
        return f"{text}: {one_line(payload['failure'], width=_WIDTH)}"
    return f"{text}: {one_line(payload['answer'], width=_WIDTH)}" if payload["answer"] else text


_TELL: dict[str, Callable[[Payload], str]] = {
    "run.started": lambda payload: f"run {payload['run']} started",
    "run.resumed": lambda payload: f"run {payload['run']} resumed",
    "run.finished": lambda payload: f"run {payload['status']}",
    "task.started": lambda payload: f"{payload['system']} begins: {one_line(payload['question'], width=_WIDTH)}",
    "task.finished": _finished,
    "model.replied": _replied,
    "model.retry": lambda payload: (
        f"{payload['role']}: attempt {payload['attempt']} failed, again in {payload['wait']:.1f} s: {payload['error']}"
    ),
    "model.failed": lambda payload: f"{payload['role']}: {payload['error']}: {payload['message']}",
    "tool.called": lambda payload: call_text(payload["tool"], payload["arguments"]),
    "tool.replied": _tool_replied,
    "agent.step": _step,
    "agent.nudge": lambda payload: f"the same call again: {call_text(payload['tool'], payload['arguments'])}",
    "agent.shortened": lambda payload: (
        f"an observation of {payload['characters']:,} characters was cut to fit the window"
    ),
    "commit.planned": lambda payload: f"carries out a plan of {counted(payload['writes'], 'write')}",
    "commit.done": lambda payload: f"the plan is carried out: {counted(payload['writes'], 'write')}",
    "commit.failed": lambda payload: (
        f"the plan stopped at {payload['tool']}, with {payload['done']} done and {payload['left']} left: {one_line(payload['text'], width=_WIDTH)}"
    ),
    "inherit.round": _round,
    "inherit.ran": _node_ran,
    "inherit.reused": lambda payload: f"reused: {payload['why']}",
    "inherit.done": lambda payload: f"done, {payload['tokens']:,} tokens: {one_line(payload['output'], width=_WIDTH)}",
    "inherit.skipped": lambda payload: f"skipped: {payload['why']}",
    "inherit.failed": lambda payload: f"failed: {payload['why']}",
    "inherit.surprise": lambda payload: (
        f"nothing that was changed reaches it, and yet it is asked something else: {'; '.join(payload['changed'])}"
    ),
    "inherit.damaged": lambda payload: f"its record is damaged, so it runs again: {payload['damage']}",
    "inherit.audited": _audited,
    "inherit.judged": _judged,
    "inherit.unjudged": lambda payload: f"the judge gave no verdict: {payload['why']}",
    "inherit.spent": lambda payload: f"round {payload['round']} gave no team ({payload['trying']}): {payload['why']}",
    "inherit.without": lambda payload: (
        f"round {payload['round']} goes on without {payload['trying']}: {payload['why']}"
    ),
    "inherit.chosen": _chosen,
    "inherit.unrefreshed": lambda payload: (
        f"no team had a node {' or '.join(map(repr, payload['nodes']))}, so there was nothing of it to refresh"
    ),
    "inherit.withheld": lambda payload: (
        f"its plan of {counted(payload['writes'], 'write')} is not carried out, since the team broke off"
    ),
    "fugue.closed": lambda payload: f"closes its {_steps(payload)}, to be noted",
    "fugue.noted": _noted,
    "fugue.unwritten": lambda payload: f"no note {payload['peer']}.{payload['episode']}: {payload['why']}",
    "fugue.swapped": lambda payload: (
        f"its note {payload['episode']} stands for the steps now"
        + (", extracted by rule" if payload["status"] == "degraded" else "")
    ),
    "fugue.heard": _heard,
    "fugue.pointed": lambda payload: f"is pointed to {payload['note']}: {', '.join(payload['words'])}",
    "fugue.read": lambda payload: (
        f"{payload['peer']} asks behind {', '.join(payload['refs'])}: {one_line(payload['intent'], width=_WIDTH)}"
        + (" (asked before)" if payload["cached"] else "")
    ),
    "fugue.stopped": lambda payload: f"{payload['peer']} stops: the others agree",
    "fugue.answered": _ended,
    "fugue.unjudged": lambda payload: f"no judge's choice, so the majority's: {payload['why']}",
    "fugue.chosen": lambda payload: (
        f"the rule {payload['rule']} takes {'the answer of ' + payload['peer'] if payload['peer'] else 'what follows'}: {payload['why']}"
    ),
    "debate.turn": lambda payload: (
        f"turn {payload['turn']}: {counted(len(payload['answers']), 'answer')} told to the others"
    ),
    "team.unsplit": lambda payload: f"no split that can be used, so each works on the whole: {payload['why']}",
    "team.assigned": lambda payload: f"{payload['peer']} is given: {one_line(payload['subtask'], width=_WIDTH)}",
    "team.reported": _ended,
    "replay.began": lambda payload: (
        f"replays {counted(payload['tasks'], 'task')} with {counted(payload['edits'], 'edit')}: at most {counted(payload['nodes'], 'node run')}"
    ),
    "replay.task": lambda payload: (
        f"task {payload['number']} of {payload['of']}: {payload['differs'] or 'every output is the same'}; at most {counted(payload['left'], 'node run')} left"
    ),
    "answer.kept": lambda payload: f"best answer so far: {one_line(str(payload['answer']), width=_WIDTH)}",
}
