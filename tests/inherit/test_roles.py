"""Role sets: what is shipped, what a world brings, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.errors import InputError
from motet.inherit import Given, RoleSet, effects, named_roles, roles_for
from motet.inherit.roles import ROLE_SETS
from motet.worlds.world import LiveWorld
from tests.inherit.graphs import GENERAL, node
from tests.worlds.workbench.office import small_office

TINY = """
name: tiny
version: 1
does: Anything.
max_nodes: 3
max_edges: 3
roles:
  worker: {does: works, prompt: "You work. {{ node.prompt }}", tools: read, output: true, reads: {work: {roles: [worker]}}}
ask: "{{ question }} {{ subtask }}{% for input in inputs %} {{ input.text }}{% endfor %}"
"""


class Workshop(LiveWorld):
    """A world that brings roles of its own."""

    roles = "general"


def tiny(tmp_path: Path, text: str = TINY) -> RoleSet:
    """The role set in a file of the user's."""
    path = tmp_path / "tiny.yaml"
    path.write_text(text, encoding="utf-8")
    return named_roles(str(path))


@pytest.mark.parametrize("name", ROLE_SETS)
def test_shipped_roles_are_whole(name: str) -> None:
    """Each shipped set renders every role's prompt and request, describes each role, and versions its words."""
    roles = named_roles(name)
    assert roles.name == name
    for role in roles.roles:
        one = node("a", role)
        assert "Be a." in roles.instructions(one)
        assert f"\n{role}: " in f"\n{roles.outline()}"
    asked = roles.request(node("a", "worker"), question="Why?", context="Now.", inputs=[Given("plan", "b", "First.")])
    for part in ("Why?", "Now.", "Do a.", "[plan from b]\nFirst."):
        assert part in asked
    assert "material" not in roles.request(node("a", "worker"), question="Why?")
    assert roles.prompts.version.startswith(f"{roles.version}-")


def test_a_world_brings_its_roles(tmp_path: Path) -> None:
    """What is given comes first, then what the world brings, then the set of the world's name, then the general one."""
    own = tiny(tmp_path)
    assert roles_for(None) is GENERAL
    assert roles_for(small_office()).name == "workbench"
    assert roles_for(LiveWorld((), name="elsewhere")) is GENERAL
    assert roles_for(Workshop((), name="workbench")) is GENERAL
    assert roles_for(Workshop(()), given=own) is own
    assert roles_for(None, given="hotpotqa").name == "hotpotqa"


def test_the_office_has_reads_and_writes() -> None:
    """Tools are told to the validator by name and effect, taken from the tools themselves."""
    found = effects(small_office().tools())
    assert len(found) == 27
    assert set(found.values()) == {"read", "write"}


def test_words_change_the_version(tmp_path: Path) -> None:
    """Another prompt is another version, so that no result made under other words is taken for this one's."""
    assert tiny(tmp_path).prompts.version != tiny(tmp_path, TINY.replace("You work.", "You toil.")).prompts.version


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("max_nodes: 3", "max_node: 3", "did you mean 'max_nodes'"),
        ("roles: [worker]", "roles: [worcer]", "worker reads 'worcer', which is no role; did you mean 'worker'"),
        ("roles: [worker]", "roles: [worker, worker]", "in more than one place"),
        ("output: true", "output: false", "no role may give the output"),
        ("tools: read", "tools: write", "nothing may read the role that writes"),
        ("tools: read", "tools: hammer", "tools"),
        ("{{ node.prompt }}", "{{ node.prompt", "a prompt is no template"),
        ("name: tiny", "name: [", "is no YAML"),
        (TINY, "- 1", "is no mapping"),
        ("reads: {work: {roles: [worker]}}", "most: 2, tools: write", "is no YAML|needs `most: 1`"),
    ],
)
def test_a_wrong_role_set_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    """A file that is no role set is bad input that names the file and what is wrong."""
    with pytest.raises(InputError, match=says) as refused:
        tiny(tmp_path, TINY.replace(old, new))
    assert "tiny.yaml" in str(refused.value)


def test_an_unknown_role_set_is_refused() -> None:
    """A name that is none is told with the nearest one, a missing file with its path."""
    with pytest.raises(InputError, match="did you mean 'workbench'"):
        named_roles("workbensh")
    with pytest.raises(InputError, match=r"nowhere\.yaml cannot be read"):
        named_roles("nowhere.yaml")
