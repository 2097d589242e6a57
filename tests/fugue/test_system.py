"""``fugue`` as a system: what is refused before anything is stored, teams of unequal members, sizes on the command line, small models."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import anyio
import pytest

import motet
from motet.cli.benchwork import built_variants
from motet.cli.config import read_file, system_from
from motet.cli.given import numbers
from motet.errors import InputError
from motet.fugue.system import Fugue
from motet.models.model import ModelInfo, Observer, Reply, Request
from motet.settings import Settings
from motet.store.queries import run_list
from motet.store.store import Store
from motet.systems import build, describe
from tests.fugue.crew import SMALL_ROOM, Crew, noted, opener, reader, speaker, story
from tests.inherit.test_guided import written
from tests.runs.desk import Says, go, new_run, sit


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"peers": 0}, "at least one peer"),
        ({"peers": []}, "at least one peer"),
        ({"peers": True}, "peers.number"),
        ({"visibility": "notse"}, "'notes+read'"),
        ({"peers": [{"name": "a"}, {"name": "a"}]}, "two peers are called 'a'"),
        ({"peers": [{"name": "p2"}, {}]}, "two peers are called 'p2'"),
        ({"peers": [{"name": "hub"}]}, "cannot be called 'hub'"),
        ({"peers": [{"name": "A b"}]}, "peers.each.0.name"),
        ({"peers": [{"modle": "x"}]}, "did you mean 'model'"),
        ({"hub_window": 1000}, "must be more than 1600"),
        ({"read_tokens": 40_000}, "must be more than 40700"),
        ({"rule": "most"}, "rule"),
        ({"room": {"keep": 6000}}, "keep (6000) must be less than close_at (6000)"),
        ({"room": {"hard": 9000}}, "hard (9000) must be at least"),
    ],
    ids=lambda value: str(value).replace(" ", "_")[:50],
)
def test_a_team_that_cannot_be_is_refused_in_one_line(config: dict[str, Any], said: str) -> None:
    """The line says what is wrong and what would be right."""
    with pytest.raises(InputError) as refused:
        build("fugue", config)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_key_for_one_peers_provider_is_refused_before_anything_is_stored(home: Path) -> None:
    """Also where all other peers have theirs."""
    store = f"sqlite:///{home / 'runs.db'}"
    system = Fugue(peers=[{"model": "scripted:echo"}, {"model": "openai:gpt-4o-mini"}], model="scripted:echo")

    async def main() -> None:
        await motet.solve("Who?", system=system, store=store, settings=Settings())

    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        anyio.run(main)
    with Store.open(store) as opened:
        assert not run_list(opened)


def test_all_models_and_tools_of_a_team_are_known_beforehand() -> None:
    """Those of each peer, of the hub where there is one, and of the judge where there is one; each once."""
    system = build(
        "fugue",
        {
            "model": "scripted:echo",
            "peers": [{"model": "a"}, {"model": "b", "tools": ["t:two"]}, {"model": "a"}],
            "tools": ["t:one"],
            "hub_model": "h",
            "judge_model": "j",
            "rule": "judge",
        },
    )
    assert isinstance(system, Fugue)
    assert system.needs().models == ("a", "b", "h", "j")
    assert system.needs().tools == ("t:one", "t:two")
    alone = system.model_copy(update={"visibility": "isolated", "rule": "majority"})
    assert alone.needs().models == ("a", "b")


def test_members_differ_in_what_their_specs_say_and_in_nothing_else() -> None:
    """Model, sampling, tools, text and limits; a common seed is spread, or equal peers would say equal things."""
    system = build(
        "fugue",
        {
            "model": "m",
            "instructions": "Be brief.",
            "sampling": {"seed": 7},
            "max_steps": 9,
            "peers": [{}, {"model": "o", "instructions": "Be bold.", "max_steps": 3}, {"sampling": {"seed": 1}}],
        },
    )
    assert isinstance(system, Fugue)
    one, two, three = system.members()
    assert [member.name for member in (one, two, three)] == ["p1", "p2", "p3"]
    assert [member.config.sampling.seed for member in (one, two, three)] == [7, 8, 1]
    assert (two.config.model, two.config.max_steps) == ("o", 3)
    assert two.config.instructions == "Be brief.\n\nBe bold."
    assert (one.config.model, one.config.max_steps, one.config.instructions) == ("m", 9, "Be brief.")
    config: Any = describe(system)["config"]
    assert describe(build("fugue", config)) == describe(system)


def test_peers_begin_in_different_ways(store: Store) -> None:
    """Each is given an angle of its own, unless that is off."""
    openings = {}
    for diversify in (True, False):
        crew = Crew(store, reader(1), peers=3, diversify=diversify)
        crew.solve()
        openings[diversify] = {crew.seen(name)[0].messages[0].content.replace(name, "X") for name in ("p1", "p2", "p3")}
    assert len(openings[True]) == 3
    assert len(openings[False]) == 1


def test_specs_come_from_the_command_line_and_from_a_file(tmp_path: Path) -> None:
    """The same team either way."""
    line = system_from("fugue", file=None, flags={}, settings=['peers=[{"model": "a"}, {"model": "b", "name": "bob"}]'])
    path = tmp_path / "team.yaml"
    path.write_text("peers:\n  - model: a\n  - model: b\n    name: bob\n")
    assert system_from("fugue", file=read_file(path), flags={}, settings=[]) == line
    assert isinstance(line, Fugue)
    assert [member.name for member in line.members()] == ["p1", "bob"]


def test_a_bench_compares_each_system_that_has_peers_at_every_size() -> None:
    """Settings reach all sizes; systems without peers come once; without sizes nothing changes."""
    given: dict[str, Any] = {"model": "scripted:echo", "tools": [], "settings": ["fugue.visibility=private"]}
    found = built_variants(["react", "fugue", "best-of-n"], peers=[1, 4], **given)
    labels = [variant.label for variant in found]
    assert labels == ["react", "fugue-1", "fugue-4", "best-of-n-1", "best-of-n-4"]
    teams = [variant.system for variant in found if isinstance(variant.system, Fugue)]
    assert [team.peers for team in teams] == [1, 4, 1, 4]
    assert [team.visibility for team in teams] == ["private", "private", "isolated", "isolated"]
    plain = built_variants(["react", "fugue", "fugue"], peers=[], **given)
    assert [variant.label for variant in plain] == ["react", "fugue", "fugue-2"]
    with pytest.raises(InputError, match="--peers: no system here has that key"):
        built_variants(["react"], peers=[2], **{**given, "settings": []})


def test_sizes_are_whole_numbers_above_zero() -> None:
    """Anything else is refused with the flag."""
    assert numbers(["1,2", "8"], flag="--peers") == [1, 2, 8]
    for wrong in ("0", "x", "-1", "1.5", "²"):
        with pytest.raises(InputError, match=f"--peers {wrong}"):
            numbers([wrong], flag="--peers")


class Small(Says):
    """A model whose long replies are worth nothing, and which can decode nothing but what the schema allows."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        super().__init__(self._say)
        self.info = ModelInfo(
            name="small", identity="small", provider="test", context=8192, reply_limit=256, native_tools=False
        )

    def _say(self, request: Request) -> Any:
        if request.reply_schema is None:
            return "an answer"
        options = request.reply_schema.get("anyOf")
        if isinstance(options, list):
            page = sum(message.role == "assistant" for message in request.messages)
            return f'{{"tool": "open_page", "arguments": {{"page": "p1.{page}"}}}}'
        import json

        return json.dumps(written(request.reply_schema, self.rng))

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """As any, and never asked for more than it can say."""
        assert request.max_tokens <= 256
        return await super().reply(request, observer=observer)


@pytest.mark.parametrize("seed", [1, 2])
def test_notes_of_a_small_model_are_valid_whatever_it_decodes(store: Store, seed: int) -> None:
    """It is asked for little, in a form in which nothing can go wrong, with a prompt that fits it."""
    model = Small(seed)
    system = Fugue(
        model=model, tools=(opener(),), peers=2, max_steps=14, room=SMALL_ROOM, hub_window=4000, verify=False
    )

    async def main() -> Any:
        run_id = await new_run(store)
        async with sit(store, run_id) as sitting:
            from tests.runs.desk import TASK

            return await sitting.execute(system, TASK)

    result = go(main())
    assert result.status == "completed"
    told = story(result)
    assert all(peer.notes == peer.closes > 0 for peer in told.peers)
    writes = [request for request in model.requests if request.messages[0].content.startswith("You write down")]
    assert len(writes) == sum(peer.closes for peer in told.peers)
    assert all(sum(message.size for message in request.messages) < 12_000 for request in writes)


def test_the_room_of_a_peer_fits_the_window_of_its_model(store: Store) -> None:
    """Whatever the configuration says, of a small window no more is filled than there is."""
    model = Says(lambda request: noted(request) if speaker(request) == "write" else "done", context=2000)
    crew = Crew(store, reader(1), room={})
    crew.system = Fugue(model=model, peers=1, max_tokens=400)
    crew.solve()
    assert crew.team is not None
    room = crew.team.peers[0].room
    assert room.hard == 1600
    assert room.close_at + room.notes <= room.hard


def test_what_a_peer_states_of_its_confidence_is_told_beside_its_answer(store: Store) -> None:
    """Taken out of the text, it stands in the details of the team's result, where judges of calibration look for it."""
    crew = Crew(store, reader(1, answer="Answer: forty\nConfidence: 70%"))
    result = crew.solve()
    assert result.answer == "Answer: forty"
    assert result.details["confidence"] == 0.7
