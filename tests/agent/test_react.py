"""The ReAct agent: it ends, with an answer where there is one, whatever its model does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.agent.dialect import JsonActions
from motet.agent.react import React
from motet.errors import ContextOverflow, ModelRefusal
from motet.models.model import Message, Model, Reply, Request, Sampling, ToolCall
from motet.models.scripted import ScriptedModel, Turn
from motet.prompts import load_prompts
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.store.queries import event_list
from motet.store.store import Store
from motet.task import Result, Source, Task
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation, Tool
from motet.usage import Usage
from tests.runs.desk import TASK, Answer, Says, go, in_turn, interrupted, new_run, rows, work_once


def calls(*asked: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    """A reply that calls tools."""
    made = (ToolCall(id=f"c{n}", name=name, arguments=json.dumps(given)) for n, (name, given) in enumerate(asked))
    return Reply(text=text, tool_calls=tuple(made), finish="tool_calls", usage=Usage(prompt=10, completion=5))


def action(name: str, **arguments: object) -> str:
    """A JSON action."""
    return json.dumps({"tool": name, "arguments": arguments} if name != "answer" else {"tool": name})


class Desk:
    """Tools that note what they are asked, over a text that can be changed."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.text = "as it was"
        self.failing = 0

    def tools(self) -> tuple[Tool, ...]:
        """``look`` reads, ``put`` writes."""

        def look(topic: str, depth: int = 1) -> Observation:
            """Look.

            :param topic: At what.
            :param depth: How far.
            """
            self.log.append(f"look {topic}")
            if self.failing:
                self.failing -= 1
                raise RuntimeError("not now")
            return Observation(text=f"{topic}: {self.text}", sources=(Source(ref=topic, quote=f"{topic} {self.text}"),))

        def put(text: str) -> str:
            """Put a text.

            :param text: Which.
            """
            self.log.append(f"put {text}")
            self.text = text
            return "put"

        return FunctionTool(look), FunctionTool(put, effect="write")


def solve(store: Store, model: Model, tools: Sequence[Tool] = (), *, task: Task = TASK, **config: Any) -> Result:
    """One run of a React agent."""
    system = React(model=model, tools=tuple(tools), **{k: v for k, v in config.items() if k != "budget"})

    async def main() -> Result:
        work = _solving(system)
        return await work_once(store, await new_run(store, task), work, task=task, budget=config.get("budget"))

    return go(main())


def _solving(system: React) -> Callable[[Task, Run], Awaitable[Result]]:
    return lambda task, run: system.solve(task, run=run)


def last(model: Says) -> str:
    """What the model was told last."""
    return model.requests[-1].messages[-1].content


# Acting


def test_an_agent_acts_and_answers(home: object, store: Store) -> None:
    """A tool's observation goes back as the answer to its call, and the answer ends the run with its sources."""
    desk = Desk()
    script: list[Turn | str] = [Turn(tool_calls=calls(("look", {"topic": "sea"})).tool_calls), "The sea is as it was."]
    result = solve(store, ScriptedModel.of_replies(script), desk.tools())
    assert (result.status, result.answer) == ("completed", "The sea is as it was.")
    assert result.sources == (Source(ref="sea", quote="sea as it was"),)
    assert result.details == {"steps": 2, "tool_calls": 1}
    assert result.usage.calls == 2


def test_reads_of_one_reply_run_side_by_side_and_come_back_in_order(store: Store) -> None:
    """Each waits for the others, so that one after the other they would wait for ever; the first to be asked is the last to answer."""
    barrier, order = asyncio.Barrier(3), [asyncio.Event() for _ in range(4)]
    order[3].set()

    async def meet(number: int) -> Observation:
        """Meet.

        :param number: Who.
        """
        await barrier.wait()
        await order[number + 1].wait()
        order[number].set()
        return Observation(text=f"met {number}", sources=(Source(ref=str(number)),))

    model = Says(in_turn([calls(*(("meet", {"number": n}) for n in range(3))), "done"]))
    result = solve(store, model, [FunctionTool(meet)])
    assert result.answer == "done"
    assert [(m.tool_call_id, m.content) for m in model.requests[1].messages[-3:]] == [
        ("c0", "met 0"),
        ("c1", "met 1"),
        ("c2", "met 2"),
    ]
    assert [source.ref for source in result.sources] == ["0", "1", "2"]


def test_calls_with_a_write_among_them_are_made_in_order(store: Store) -> None:
    """A read after a write sees what was written."""
    desk = Desk()
    asked = calls(
        ("look", {"topic": "a"}), ("put", {"text": "new"}), ("look", {"topic": "a"}), ("put", {"text": "newer"})
    )
    model = Says(in_turn([asked, "done"]))
    solve(store, model, desk.tools())
    assert desk.log == ["look a", "put new", "look a", "put newer"]
    assert [message.content for message in model.requests[1].messages[-4:]] == ["a: as it was", "put", "a: new", "put"]


def test_a_wrong_call_is_told_and_the_right_ones_beside_it_are_made(store: Store) -> None:
    """Malformed arguments, wrong types, missing and unknown arguments, unknown tools: each is told in its own observation, and none is run as ``{}``."""
    desk = Desk()
    bad = calls(
        ("look", {"topic": "a"}),
        ("look", {"topic": 5}),
        ("look", {}),
        ("look", {"topic": "b", "depht": 1}),
        ("lok", {}),
    )
    broken = ToolCall(id="c9", name="put", arguments='{"text": "half')
    model = Says(in_turn([bad.model_copy(update={"tool_calls": (*bad.tool_calls, broken)}), "done"]))
    solve(store, model, desk.tools())
    assert desk.log == ["look a"]
    told = [message.content for message in model.requests[1].messages[-6:]]
    for text, words in zip(
        told, ("a: as it was", "topic", "topic", "depht", "There is no tool", "no valid JSON"), strict=True
    ):
        assert words in text


def test_calls_with_one_id_are_told_apart(store: Store) -> None:
    """Each observation answers its own call."""
    desk = Desk()
    same = tuple(ToolCall(id="x", name="look", arguments=json.dumps({"topic": name})) for name in "ab")
    model = Says(in_turn([Reply(tool_calls=same), "done"]))
    solve(store, model, desk.tools())
    sent = model.requests[1].messages
    assert [call.id for call in sent[-3].tool_calls] == [message.tool_call_id for message in sent[-2:]]
    assert len({message.tool_call_id for message in sent[-2:]}) == 2


def test_too_many_calls_in_one_reply_are_refused_beyond_the_limit(store: Store) -> None:
    """The first few are made, and the others told so."""
    desk = Desk()
    model = Says(in_turn([calls(*(("look", {"topic": str(n)}) for n in range(5))), "done"]))
    solve(store, model, desk.tools(), max_calls=2)
    assert sorted(desk.log) == ["look 0", "look 1"]
    assert [m.content.count("at most 2 tools") for m in model.requests[1].messages[-5:]] == [0, 0, 1, 1, 1]


# Repeating


def test_a_repeated_read_is_answered_from_the_record_until_something_is_written(store: Store) -> None:
    """With a nudge, and with the next turn one that may not call; after a write the same read is made again."""
    desk = Desk()
    same = ("look", {"topic": "a"})
    model = Says(in_turn([calls(same), calls(same), calls(("put", {"text": "new"})), calls(same), "done"]))
    result = solve(store, model, desk.tools())
    assert desk.log == ["look a", "put new", "look a"]
    assert "You made this very call before" in model.requests[2].messages[-1].content
    assert model.requests[2].messages[-1].content.startswith("a: as it was")
    assert model.requests[-1].messages[-1].content == "a: new"
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none", "auto", "auto"]
    assert result.details["tool_calls"] == 3


def test_a_repeated_call_beside_new_ones_does_not_bar_the_next(store: Store) -> None:
    """Only a turn of nothing but repetitions is stuck."""
    desk = Desk()
    a, b = ("look", {"topic": "a"}), ("look", {"topic": "b"})
    model = Says(in_turn([calls(a), calls(b, a), calls(a, b), "done"]))
    solve(store, model, desk.tools())
    assert desk.log == ["look a", "look b"]
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "auto", "none"]


def test_a_read_that_failed_is_made_again_when_asked_again(store: Store) -> None:
    """An error is no answer."""
    desk = Desk()
    desk.failing = 1
    model = Says(in_turn([calls(("look", {"topic": "a"})), calls(("look", {"topic": "a"})), "done"]))
    solve(store, model, desk.tools())
    assert desk.log == ["look a", "look a"]
    assert last(model) == "a: as it was"


# Ending


def test_the_last_step_asks_for_an_answer_and_makes_no_call(store: Store) -> None:
    """A model that calls on regardless is not obeyed: nothing could come of it, and a write would be made for nothing."""
    desk = Desk()
    topics = iter(range(100))
    model = Says(lambda _request: calls(("put", {"text": str(next(topics))})))
    result = solve(store, model, desk.tools(), max_steps=3)
    assert desk.log == ["put 0", "put 1"]
    assert model.requests[-1].tool_choice == "none"
    assert "You have no steps left" in last(model)
    assert (result.status, result.answer) == ("completed", None)
    assert result.details == {"steps": 3, "tool_calls": 2, "stopped": "max_steps"}


@pytest.mark.parametrize("actions", ["native", "json"])
def test_a_single_step_only_answers(store: Store, actions: str) -> None:
    """Without a call, and without a reproach."""
    model = Says(lambda _request: "forty-two")
    result = solve(store, model, Desk().tools(), max_steps=1, actions=actions)
    assert result.answer == "forty-two"
    assert len(model.requests) == 1
    assert "no steps left" not in last(model)


@pytest.mark.parametrize("actions", ["native", "json"])
def test_empty_replies_are_told_and_end_with_the_steps(store: Store, actions: str) -> None:
    """Never a hang."""
    model = Says(lambda _request: Reply(usage=Usage(prompt=1, completion=0)))
    result = solve(store, model, Desk().tools(), max_steps=4, actions=actions)
    assert (result.status, result.answer, result.details["stopped"]) == ("completed", None, "max_steps")
    assert len(model.requests) == 4


def test_an_answer_cut_off_at_max_tokens_is_marked(home: object, store: Store) -> None:
    """It is given, and said to be cut."""
    result = solve(store, ScriptedModel.of_replies(["one two three four five six seven eight"]), max_tokens=4)
    assert result.answer is not None
    assert result.answer.startswith("one two")
    assert "eight" not in result.answer
    assert result.details["cut"] == "max_tokens"


def test_a_refusal_fails_with_what_the_model_said(store: Store) -> None:
    """And is attributed to the model."""
    result = solve(store, Says(lambda _request: ModelRefusal("model says declined to answer")))
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.boundary, result.error.kind, result.error.scope) == ("model", "ModelRefusal", "task")


def test_a_budget_stops_an_agent_between_steps(store: Store) -> None:
    """With what it had."""
    desk = Desk()
    topics = iter(range(100))
    model = Says(lambda _request: calls(("look", {"topic": str(next(topics))})))
    result = solve(store, model, desk.tools(), budget=Budget(calls=2))
    assert (result.status, len(model.requests), len(desk.log)) == ("budget", 2, 2)


# The window


def test_old_observations_are_shortened_before_a_small_window_overflows(store: Store) -> None:
    """The oldest first, and never the task, even where worked examples come before it."""
    desk = Desk()
    desk.text = "x" * 3000
    task = Task(question="What is to be done? " + "Think well. " * 60, id="task")
    for actions in ("native", "json"):
        topics = iter("abcdefgh")

        def act(request: Request, topics: Any = topics, actions: str = actions) -> Answer:
            topic = next(topics, None)
            if topic is None:
                return action("answer") if request.reply_schema else "done"
            return action("look", topic=topic) if actions == "json" else calls(("look", {"topic": topic}))

        model = Says(act, context=3500)
        result = solve(store, model, desk.tools(), task=task, actions=actions, max_tokens=100)
        assert result.answer == "done"
        final = [request for request in model.requests if request.reply_schema or actions == "native"][-1]
        observed = [
            message.content for message in final.messages if "a: xxx" in message.content or ": xxx" in message.content
        ]
        assert "an earlier observation, cut" in observed[0]
        assert "x" * 1000 in observed[-1]
        assert any(task.question.strip() in message.content for message in final.messages)
        assert sum(len(message.content) for message in final.messages) < 3 * 3500 * 1.3


def test_an_overflow_that_nobody_foresaw_shortens_and_asks_again(store: Store) -> None:
    """The server's own count decides."""
    desk = Desk()
    desk.text = "x" * 3000

    def strict(request: Request) -> Answer:
        if sum(len(message.content) for message in request.messages) > 4000:
            return ContextOverflow("too long")
        looked = sum(message.role == "tool" for message in request.messages)
        return "done" if looked == 2 else calls(("look", {"topic": f"t{looked}"}))

    model = Says(strict)
    assert solve(store, model, desk.tools()).answer == "done"
    assert [len(m.content) < 400 for m in model.requests[-1].messages if m.role == "tool"] == [True, False]


def test_a_single_observation_beyond_the_window_is_cut_in_half_until_it_fits(store: Store) -> None:
    """Better the start of it than no answer."""
    desk = Desk()
    desk.text = "x" * 9000

    def strict(request: Request) -> Answer:
        if sum(len(message.content) for message in request.messages) > 4000:
            return ContextOverflow("too long")
        return "done" if request.messages[-1].role == "tool" else calls(("look", {"topic": "a"}))

    model = Says(strict)
    assert solve(store, model, desk.tools()).answer == "done"
    assert 1000 < len(last(model)) < 4000
    assert last(model).endswith("(cut)")


def test_an_overflow_with_nothing_left_to_shorten_fails_as_what_it_is(store: Store) -> None:
    """A task that does not fit is no bug, and no endless loop."""
    model = Says(lambda _request: ContextOverflow("too long"))
    result = solve(store, model, Desk().tools(), task=Task(question="x" * 9000, id="task"))
    assert result.error is not None
    assert (result.status, result.error.kind, len(model.requests)) == ("failed", "ContextOverflow", 1)


# JSON actions


def test_json_actions_look_first_and_answer_in_plain_text(store: Store) -> None:
    """The first schema has no way to answer; the answer is asked for by itself, over what was observed."""
    model = Says(in_turn([action("look", topic="sea"), action("answer"), "As it was."]), native_tools=False)
    result = solve(store, model, Desk().tools())
    assert result.answer == "As it was."
    first, second, final = model.requests
    assert json.dumps(first.reply_schema).count('"const"') == 2
    assert json.dumps(second.reply_schema).count('"const"') == 3
    assert final.reply_schema is None
    assert "sea: as it was" in last(model)
    assert not any(request.tools for request in model.requests)


@pytest.mark.parametrize(
    "wrong", ["no json at all", '{"tool": "lok", "arguments": {}}', '{"tool": "look"}', "", '{"tool": "look", "arg']
)
def test_a_wrong_action_is_told_and_tried_again(store: Store, wrong: str) -> None:
    """It costs a step, and nothing else."""
    desk = Desk()
    model = Says(in_turn([wrong, action("look", topic="a"), '{"answer": "direct"}']), native_tools=False)
    result = solve(store, model, desk.tools())
    assert (result.answer, result.details["steps"]) == ("direct", 3)
    assert "could not be used" in model.requests[1].messages[-1].content


def test_a_json_agent_that_never_answers_is_asked_in_the_end(store: Store) -> None:
    """The last step is the plain question."""
    topics = iter(range(100))

    def looks(request: Request) -> Answer:
        return action("look", topic=str(next(topics))) if request.reply_schema else "in the end"

    result = solve(store, Says(looks, native_tools=False), Desk().tools(), max_steps=3)
    assert (result.answer, result.details["tool_calls"]) == ("in the end", 2)


def test_a_model_that_repeats_what_cannot_be_used_is_asked_for_its_answer(store: Store) -> None:
    """After three such replies in a row only the answer is asked for, though there are steps left."""
    garbage = '{"tool": "look", "arguments": {"topic": "aaaa'
    model = Says(lambda request: garbage if request.reply_schema else "I do not know.", native_tools=False)
    result = solve(store, model, Desk().tools(), max_steps=12)
    assert (result.answer, result.details["steps"]) == ("I do not know.", 4)


def test_a_small_model_may_write_short_arguments_only() -> None:
    """Text arguments are bounded for a model whose long replies are worth nothing, and for no other."""

    def topic(longest: int | None) -> Any:
        dialect = JsonActions(Desk().tools(), load_prompts("motet.agent", "react"), longest=longest)
        ask = Message(role="user", content="x")
        request = dialect.request([ask], max_tokens=9, sampling=Sampling(), may_call=True, may_answer=True)
        look: Any = request.reply_schema["anyOf"][0]  # type: ignore[index]
        return look["properties"]["arguments"]["properties"]["topic"]

    assert topic(256)["maxLength"] == 256
    assert "maxLength" not in topic(None)


def test_a_model_without_tool_calls_needs_no_actions_without_tools(store: Store) -> None:
    """It is simply asked."""
    model = Says(lambda _request: "plain", native_tools=False)
    assert solve(store, model).answer == "plain"
    assert model.requests[0].reply_schema is None


# Resuming


@pytest.mark.parametrize(
    ("actions", "stop"), [*(("native", n) for n in range(1, 4)), *(("json", n) for n in range(1, 6))]
)
def test_an_agent_broken_off_at_any_call_goes_on_where_it_was(store: Store, actions: str, stop: int) -> None:
    """It walks through its old steps without asking anyone: no model call and no tool call is made twice, and the events are told once."""
    desk = Desk()
    sittings = [0]

    def policy(request: Request) -> Answer:
        if sittings[0] == 0 and len(model.requests) == stop:
            raise asyncio.CancelledError
        seen = sum("as it was" in message.content for message in request.messages)
        if request.reply_schema is None and actions == "json":
            return "done"
        if seen < 3:
            topic = f"topic {seen}"
            return (
                action("look", topic=topic)
                if actions == "json"
                else calls(("look", {"topic": topic}), ("look", {"topic": "same"}))
            )
        return action("answer") if actions == "json" else "done"

    model = Says(policy)
    system = React(model=model, tools=desk.tools(), actions=actions)

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        await interrupted(store, run_id, _solving(system))
        sittings[0] = 1
        return run_id, await work_once(store, run_id, _solving(system))

    run_id, result = go(main())
    assert result.answer == "done"
    assert len(desk.log) == len(set(desk.log))
    digests = [row.digest for row in rows(store, run_id) if row.kind == "model" and row.state == "done"]
    assert len(digests) == len(set(digests)) == len(model.requests) - 1
    steps = [event.payload["step"] for event in event_list(store, run_id) if event.kind == "agent.step"]  # type: ignore[call-overload, index]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) == result.details["steps"]


# Anything at all

words = st.sampled_from(
    [
        "",
        "an answer",
        "<tool_call>",
        '{"tool": "answer"}',
        action("look", topic="a"),
        '{"name": "look", "arguments": {"topic": "a"}}',
    ]
)
tool_calls = st.builds(
    ToolCall,
    id=st.sampled_from(["", "a"]),
    name=st.sampled_from(["look", "put", "lok", ""]),
    arguments=st.sampled_from(['{"topic": "a"}', '{"text": "b"}', "{}", "", "null", "[[", '{"topic": {"a": 1e999}}']),
)
replies = st.builds(
    Reply,
    text=words | st.text(max_size=20),
    reasoning=words,
    tool_calls=st.lists(tool_calls, max_size=3).map(tuple),
    finish=st.sampled_from(["stop", "length", "tool_calls", "filter"]),
)


@given(st.lists(replies, min_size=1, max_size=5), st.sampled_from(["native", "json"]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_whatever_a_model_says_an_agent_ends_with_a_result(
    store: Store, said: list[Reply], actions: str, look_first: bool
) -> None:
    """Completed, within its steps, with the answer or without one; and it raises nothing."""
    script = iter(range(10**6))
    model = Says(lambda _request: said[next(script) % len(said)])
    result = solve(store, model, Desk().tools(), actions=actions, look_first=look_first, max_steps=5)
    assert result.status == "completed"
    assert result.answer is None or result.answer.strip()
    steps = result.details["steps"]
    assert isinstance(steps, int)
    assert 1 <= steps <= 5
    assert result.answer is not None or result.details["stopped"] == "max_steps"
