"""The evolution: rounds, what spends them, what ends it, and what becomes of it when it is broken off."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from motet.errors import BadReply, BudgetExceeded, InputError, ModelDenied, ModelError, ModelThrottled, ModelUnavailable
from motet.inherit.history import History
from motet.inherit.selection import ranked_prefix
from motet.models.model import Request
from motet.runs.budget import Budget
from motet.store.store import Store
from motet.tools.function import FunctionTool
from motet.worlds.world import LiveWorld
from tests.inherit.studio import ACTING, PAIR, TRIO, Studio, calls, design, marks, member, pick, rewrite, story
from tests.inherit.team import told
from tests.runs.desk import Answer


def test_each_round_after_the_first_edits_the_newest_candidate_and_the_best_is_the_result(store: Store) -> None:
    """Five rounds by default: a design and four edits, each of the candidate before it; the judge's marks choose."""
    studio = Studio(
        store,
        meta=[TRIO, *(rewrite("answer", f"Try {n}.") for n in range(1, 5))],
        judge=[marks(40), marks(60), marks(90), marks(20), marks(30)],
    )
    result = studio.solve()
    found = story(result)
    assert [item.origin for item in found.rounds] == ["initial", "edit", "edit", "edit", "edit"]
    assert [item.parent for item in found.rounds] == [None, 0, 1, 2, 3]
    assert (found.chosen, found.ranked) == (2, (0, 1, 2, 2, 2))
    assert result.answer == found.rounds[2].nodes["answer"].output
    # Only the edited node was done again.
    assert studio.asked == {"meta": 5, "judge": 5, "find": 1, "check": 1, "answer": 5}
    assert [item.live for item in found.rounds] == [45, 15, 15, 15, 15]
    assert [item.inherited for item in found.rounds] == [0, 30, 30, 30, 30]
    assert result.inherited.tokens == 4 * 30


def test_without_inheritance_the_outputs_are_the_same_and_everything_is_paid(store: Store) -> None:
    """Inheritance changes what is paid and nothing else."""
    said: dict[str, Any] = {
        "meta": [TRIO, rewrite("answer", "Once more.")],
        "judge": [marks(10), marks(20)],
        "candidates": 2,
    }
    one, other = Studio(store, **said), Studio(store, **said, inherit=False)
    with_it, without = story(one.solve()), story(other.solve())
    outputs = [[row.output for row in item.nodes.values()] for item in with_it.rounds]
    assert outputs == [[row.output for row in item.nodes.values()] for item in without.rounds]
    assert [(item.live, item.inherited) for item in without.rounds] == [(45, 0), (45, 0)]
    assert other.asked["find"] == 2


def test_an_invalid_design_goes_back_once_with_node_and_rule(store: Store) -> None:
    """The validator's words, which name node and rule, are the next message; the repaired design is tried."""
    wrong = design(member("find"), member("answer", "integrator", "fnd"))
    studio = Studio(store, meta=[wrong, PAIR], candidates=1)
    assert story(studio.solve()).rounds[0].origin == "initial"
    repair = [
        request.messages[-1].content
        for request in studio.model.requests
        if "cannot be used" in request.messages[-1].content
    ]
    assert len(repair) == 1
    assert "'answer'" in repair[0]
    assert "[unknown-input]" in repair[0]


def test_a_meta_model_that_never_yields_a_valid_team_ends_the_run_with_what_was_tried(store: Store) -> None:
    """Every round is spent, and the failure says on what."""
    result = Studio(store, meta=[design(member("a", "boss"))], candidates=2).solve()
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.kind == "BadReply"
    assert "round 0: design" in result.error.message
    assert "round 1: design" in result.error.message
    assert "boss" in result.error.message


def test_a_spent_round_leaves_the_incumbent_as_it_was(store: Store) -> None:
    """Two invalid edits spend a round; the next one edits the same candidate."""
    studio = Studio(
        store, meta=[PAIR, {"choice": 9999}, {"choice": 9999}, rewrite("tell", "Well.")], candidates=3, restart="never"
    )
    found = story(studio.solve())
    assert [item.origin for item in found.rounds] == ["initial", None, "edit"]
    assert found.rounds[1].why.startswith("edit: ")
    assert "9999" in found.rounds[1].why
    assert found.rounds[2].parent == 0
    assert found.rounds[1].meta == 2 * 15


def test_the_best_so_far_is_the_result_when_later_rounds_fail(store: Store) -> None:
    """A meta-model that is lost after the first round costs the later rounds and nothing else."""
    result = Studio(store, meta=[PAIR, ModelUnavailable("gone")], candidates=3).solve()
    assert result.status == "completed"
    assert [item.origin for item in story(result).rounds] == ["initial", None, None]


@pytest.mark.parametrize("lost", [ModelDenied("wrong key"), ModelUnavailable("gone"), ModelThrottled("too many")])
def test_a_meta_model_that_cannot_be_asked_ends_the_run_at_once(store: Store, lost: ModelError) -> None:
    """One request, no further round, and the failure is the model's own."""
    studio = Studio(store, meta=[lost, PAIR], candidates=5)
    result = studio.solve()
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.kind, str(lost) in result.error.message) == (type(lost).__name__, True)
    assert studio.asked == {"meta": 1}


def test_a_meta_model_that_is_denied_later_ends_the_rounds_and_the_best_so_far_is_the_result(store: Store) -> None:
    """No further round would fare better, so none is begun."""
    studio = Studio(store, meta=[PAIR, ModelDenied("the key was withdrawn")], candidates=5)
    result = studio.solve()
    assert result.status == "completed"
    assert [item.origin for item in story(result).rounds] == ["initial", None]
    assert studio.asked["meta"] == 2


def test_a_node_whose_model_is_denied_ends_the_rounds(store: Store) -> None:
    """No edit would mend it: the failure is told as the model's, and the meta-model is not asked again."""
    studio = Studio(store, meta=[PAIR], say=lambda who, _: ModelDenied("wrong key") if who == "look" else who)
    result = studio.solve()
    assert result.error is not None
    assert (result.status, result.error.kind) == ("failed", "ModelDenied")
    assert studio.asked["meta"] == 1


def test_a_candidate_outlives_its_judge(store: Store) -> None:
    """A judge that fails twice costs the candidate its verdict; one with a verdict ranks before it."""
    studio = Studio(
        store, meta=[PAIR, rewrite("tell", "Well.")], judge=[BadReply("no"), marks(1)], candidates=2, restart="never"
    )
    result = studio.solve()
    found = story(result)
    assert result.status == "completed"
    assert (found.rounds[0].verdict, found.chosen) == (None, 1)
    assert len(studio.told("inherit.unjudged")) == 1


def test_select_is_asked_only_where_a_node_that_can_go_is_blamed(store: Store) -> None:
    """The critic can be dropped and is blamed: it goes, and the edit is made on what is left."""
    spared = Studio(store, meta=[TRIO, rewrite("answer", "Well.")], candidates=2, restart="never")
    spared.solve()
    assert spared.asked["meta"] == 2
    studio = Studio(
        store,
        meta=[TRIO, {"drop": ["check"]}, rewrite("answer", "Well.")],
        judge=[marks(50, "check")],
        candidates=2,
        restart="never",
    )
    found = story(studio.solve())
    assert found.rounds[1].dropped == ("check",)
    assert sorted(found.rounds[1].nodes) == ["answer", "find"]
    never = Studio(
        store,
        meta=[TRIO, rewrite("answer", "Well.")],
        judge=[marks(50, "check")],
        candidates=2,
        select=False,
        restart="never",
    )
    assert story(never.solve()).rounds[1].dropped == ()


@pytest.mark.parametrize(
    ("judged", "restarts"),
    [([50, 51], True), ([50, 52], False), ([50, 20], True)],
    ids=["within-margin", "better", "worse"],
)
def test_the_last_round_designs_anew_only_where_refining_has_not_helped(
    store: Store, judged: list[int], restarts: bool
) -> None:
    """Within a point of the first candidate's quality, the last round starts from the best and is another design."""
    third = PAIR if restarts else rewrite("answer", "Better.")
    studio = Studio(
        store, meta=[TRIO, rewrite("answer", "Well."), third], judge=[marks(mark) for mark in judged], candidates=3
    )
    found = story(studio.solve())
    assert found.rounds[2].origin == ("restart" if restarts else "edit")
    assert found.rounds[2].parent == (found.ranked[1] if restarts else 1)


def test_patience_designs_anew_after_rounds_without_gain_and_counts_again(store: Store) -> None:
    """With a patience of one, a round without gain is followed by a restart, and one gain later by an edit."""
    studio = Studio(
        store,
        meta=[TRIO, rewrite("answer", "Well."), PAIR, rewrite("tell", "Well.")],
        judge=[marks(50), marks(50), marks(60), marks(70)],
        candidates=4,
        restart="patience",
        patience=1,
    )
    assert [item.origin for item in story(studio.solve()).rounds] == ["initial", "edit", "restart", "edit"]


def test_a_restart_keeps_the_results_of_nodes_that_it_keeps_word_for_word(store: Store) -> None:
    """A new design with an old node in it does not pay for that node again."""
    again = design(member("find"), member("tell", "integrator", "find"))
    studio = Studio(store, meta=[TRIO, again], candidates=2, refine="redesign")
    found = story(studio.solve())
    assert found.rounds[1].origin == "restart"
    assert found.rounds[1].nodes["find"].how == "reused"


def test_several_edits_a_round_are_made_one_after_the_other(store: Store) -> None:
    """Each is chosen from the menu of what the one before it left."""
    studio = Studio(
        store,
        meta=[TRIO, pick("remove node: check"), rewrite("find", "Well.")],
        candidates=2,
        edits=2,
        restart="never",
    )
    found = story(studio.solve())
    assert found.rounds[1].edits == ("remove_node", "prompt")
    assert sorted(found.rounds[1].nodes) == ["answer", "find"]


def test_an_edit_that_was_tried_is_not_offered_on_the_same_team_again(store: Store) -> None:
    """After a second candidate goes back to the first one's graph, the edit tried there is gone from the menu."""
    menus: list[str] = []

    def look(request: Request) -> JsonValue:
        menus.append(request.messages[-1].content)
        return rewrite("answer", "Well.")(request)

    back = pick("other prompt of: answer", prompt="Be answer.")
    with pytest.raises(AssertionError, match="the menu has no"):
        Studio(store, meta=[TRIO, look, back, look], candidates=4, restart="never").solve()
    assert len(menus) == 2


def test_a_budget_ends_the_rounds_and_the_best_so_far_is_the_result(store: Store) -> None:
    """The run says that it stopped on its budget, and has the history up to there."""
    studio = Studio(store, meta=[PAIR, *(rewrite("tell", f"{n}") for n in range(4))], control_tokens=50, max_tokens=50)
    result = studio.solve(budget=Budget(calls=6))
    assert result.status == "budget"
    assert result.answer
    assert len(story(result).tried) == 1


def test_a_budget_that_allows_no_candidate_stops_the_run(store: Store) -> None:
    """Nothing was tried, so there is nothing to give."""
    result = Studio(store, meta=[PAIR]).solve(budget=Budget(calls=1))
    assert (result.status, result.answer) == ("budget", None)
    assert result.error is not None
    assert result.error.kind == BudgetExceeded.__name__


def test_a_node_that_fails_counts_and_its_candidate_ranks_last(store: Store) -> None:
    """The failed candidate is recorded with its error; the whole one is the result."""

    def say(who: str, request: Request) -> Answer:
        broken = who == "tell" and "Well" not in request.messages[0].content
        return ModelUnavailable("lost") if broken else told(who, request)

    studio = Studio(
        store,
        meta=[PAIR, rewrite("tell", "Well.")],
        judge=[marks(99), marks(1)],
        say=say,
        candidates=2,
        restart="never",
    )
    found = story(studio.solve())
    assert ([item.errors for item in found.rounds], found.chosen) == ([1, 0], 1)


def test_when_no_candidate_has_an_output_the_result_is_the_failure(store: Store) -> None:
    """It names the node's error."""

    def say(who: str, request: Request) -> Answer:
        return ModelUnavailable("lost") if who == "tell" else told(who, request)

    result = Studio(store, meta=[PAIR], say=say, candidates=1).solve()
    assert result.status == "failed"
    assert result.error is not None
    assert "lost" in result.error.message


def test_the_ledger_tells_control_from_work(store: Store) -> None:
    """Meta-model and judge pay under their own roles, nodes under theirs; a round's control tokens are its own."""
    found = story(Studio(store, meta=[PAIR, rewrite("tell", "Well.")], candidates=2, restart="never").solve())
    assert [(item.meta, item.judge) for item in found.rounds] == [(15, 15), (15, 15)]


def test_a_node_to_refresh_that_no_team_had_is_told(store: Store) -> None:
    """Only those of the given names that were never met."""
    studio = Studio(store, meta=[PAIR], candidates=1, refresh=("look", "lok"))
    studio.solve()
    assert studio.told("inherit.unrefreshed") == [{"nodes": ["lok"]}]


@pytest.mark.parametrize("choice", [-1, 10**400, "1st", None, 1.5, [1], {"a": 1}])
def test_a_choice_that_is_none_spends_the_round_in_one_short_line(store: Store, choice: JsonValue) -> None:
    """Whatever was written in place of a number, the history says so readably."""
    found = story(Studio(store, meta=[PAIR, {"choice": choice}], candidates=2, restart="never").solve())
    assert found.rounds[1].origin is None
    assert len(found.rounds[1].why) < 300
    assert "\n" not in found.rounds[1].why


def test_a_refreshed_node_is_done_live_once_though_the_store_has_it(store: Store) -> None:
    """A second run inherits all; with refresh it does that node again, in its first round only."""
    said: dict[str, Any] = {
        "meta": [PAIR, rewrite("tell", "Fresh.")],
        "candidates": 2,
        "restart": "never",
        "namespace": "refreshed",
    }
    Studio(store, **said).solve()
    again = Studio(store, **said)
    again.solve()
    assert (again.asked["look"], again.asked["tell"]) == (0, 0)
    fresh = Studio(store, **said, refresh=("look",))
    found = story(fresh.solve())
    assert fresh.asked["look"] == 1
    assert found.rounds[0].nodes["look"].why == "a fresh result was asked for"
    assert found.rounds[1].nodes["look"].how == "reused"


def test_a_live_world_sees_only_the_chosen_plan_and_only_after_a_yes(store: Store) -> None:
    """Both candidates plan a call; none is made until the plan is approved, and then the chosen one's, once."""
    sent: list[str] = []

    def send(text: str) -> str:
        """Send a text."""
        sent.append(text)
        return "sent"

    world = LiveWorld([FunctionTool(send, effect="write", version="1")])
    studio = Studio(
        store,
        meta=[ACTING, rewrite("plan", "Well.")],
        judge=[marks(70), marks(60)],
        say=calls("act", ("send", {"text": "hello"})),
        world=world,
        candidates=2,
        restart="never",
    )
    refused = studio.solve()
    assert (refused.status, sent) == ("cancelled", [])
    before = studio.asked.copy()
    result = studio.resume(approve=True)
    assert (result.status, sent, studio.asked) == ("completed", ["hello"], before)
    assert story(result).chosen == 0


def test_what_a_team_planned_that_broke_off_is_not_sent(store: Store) -> None:
    """The executor plans a call and then fails: though everything is approved, half a plan is not carried out."""
    sent: list[str] = []

    def send(text: str) -> str:
        """Send a text."""
        sent.append(text)
        return "sent"

    def breaks_off(who: str, request: Request) -> Answer:
        if any(message.role == "tool" for message in request.messages):
            return BadReply("nothing more")
        return calls("act", ("send", {"text": "hello"}))(who, request)

    world = LiveWorld([FunctionTool(send, effect="write", version="1")])
    studio = Studio(store, meta=[ACTING], say=breaks_off, world=world, candidates=1)
    result = studio.solve(approve=True)
    assert (result.status, sent) == ("failed", [])
    assert studio.told("inherit.withheld") == [{"writes": 1}]


def test_a_world_that_cannot_stage_refuses_a_team_that_could_write(store: Store) -> None:
    """Bad input that says why, before any model is asked."""

    def send(text: str) -> str:
        """Send a text."""
        return text

    world = LiveWorld([FunctionTool(send, effect="write", version="1")], stageable=False)
    studio = Studio(store, meta=[ACTING], world=world)
    with pytest.raises(InputError, match="neither copied nor staged"):
        studio.solve()
    assert not studio.asked


def test_ranked_prefixes_choose_among_what_was_there(store: Store) -> None:
    """Each prefix chooses a candidate that it holds."""
    studio = Studio(store, meta=[PAIR, *(rewrite("tell", f"{n}") for n in range(3))], candidates=4, restart="never")
    found = story(studio.solve())
    assert all(choice <= position for position, choice in enumerate(found.ranked))
    assert ranked_prefix([]) == ()


def test_a_run_broken_off_at_any_call_ends_as_if_it_had_not_been(store: Store) -> None:
    """Whichever call is cut short, the resumed run has the same history and sends that one call again and no other."""
    meta = [TRIO, {"drop": ["check"]}, rewrite("answer", "Well."), rewrite("find", "Well.")]
    said: dict[str, Any] = {"meta": meta, "judge": [marks(40, "check"), marks(50), marks(60)], "candidates": 3}
    whole = Studio(store, **said)
    expected = story(whole.solve())
    sent = sum(whole.asked.values())
    for position in range(sent):
        studio = Studio(store, **said)
        studio.break_off(position)
        result = studio.resume()
        assert comparable(story(result)) == comparable(expected), f"broken off at call {position}"
        assert studio.asked == whole.asked
        assert len(studio.model.requests) == sent + 1


def comparable(history: History) -> JsonValue:
    """A history without the keys, which name the run where there is no world."""
    return history.model_dump(mode="json")
