"""Role sets: which kinds of nodes a workflow may have, what each may read, hold and give, and how each is prompted. Data, as YAML.

A role's *ports* say what it reads: each takes the outputs of some roles, at least and at most so many of them. A role feeds at most one port of another, so a
node's inputs are a plain list of ids. A role none of whose ports needs anything may begin a workflow; one with ``output`` may end it. At most one role may
write, at most one node may have it, and nothing reads it.

A world brings its role set by name or as an object (``roles_for``); ``general`` serves any task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import yaml
from pydantic import Field, ValidationError, model_validator

from motet.errors import InputError
from motet.inherit.render import below_heading
from motet.inherit.workflow import Node, Workflow
from motet.prompts import Prompts
from motet.settings import explain, nearest
from motet.tools.tool import Effect, Tool
from motet.value import Value
from motet.words import count
from motet.worlds.world import World

ROLE_SETS = ("general", "hotpotqa", "workbench")
AUDITORS = ("general", "hotpotqa", "workbench")

# The tools that nodes may hold, by name, with what each does to the world.
Effects: TypeAlias = Mapping[str, Effect]


def effects(tools: Iterable[Tool]) -> dict[str, Effect]:
    """Names and effects of ``tools``, which is all that a workflow's validation needs of them."""
    return {tool.name: tool.effect for tool in tools}


class Port(Value):
    """What a role reads under one name: the outputs of nodes of ``roles``, ``least`` to ``most`` of them (``None``: any number)."""

    roles: tuple[str, ...] = Field(min_length=1)
    least: int = Field(default=0, ge=0)
    most: int | None = Field(default=None, gt=0)

    @property
    def number(self) -> str:
        """How many in words: ``exactly 1``, ``at least 1``, ``0 to 2``, ``any number``."""
        return number_in_words(self.least, self.most)


class Role(Value):
    """A kind of node.

    ``does`` is one line for whoever designs workflows; ``prompt`` a template over ``node`` for whoever has the role. ``least`` and ``most`` bound the nodes of
    this role. ``needs_tool``: each must hold a tool, and one that writes where the role may write. ``one_holds``: at least one node of the role holds one of
    these tools.
    """

    does: str
    prompt: str
    reads: dict[str, Port] = Field(default_factory=dict)
    tools: Literal["none", "read", "write"] = "none"
    output: bool = False
    least: int = Field(default=0, ge=0)
    most: int | None = Field(default=None, gt=0)
    needs_tool: bool = False
    one_holds: tuple[str, ...] = ()

    @property
    def begins(self) -> bool:
        """Whether a node of this role may read nothing."""
        return all(port.least == 0 for port in self.reads.values())


class Given(NamedTuple):
    """One input as its reader is shown it: the port, the node that gave it, and what it gave."""

    port: str
    node: str
    text: str


class Start(Value):
    """A team to begin with, for any task. Its nodes are given all the tools that they may hold, those of the role that writes only tools that write."""

    does: str
    nodes: tuple[Node, ...] = Field(min_length=1)


class RoleSet(Value):
    """Roles with their limits and prompts. ``max_text`` is in characters, for each subtask and each prompt. ``starts`` are teams by name, for models that
    cannot design one and for methods that begin with a pool of them.

    ``ask`` is the template of what a node is asked, over ``question``, ``context``, ``subtask`` and ``inputs``. ``audit`` names who looks an output over without knowing the
    right one: one of ``AUDITORS``, or a user's ``module:function``.
    """

    version: int
    name: str
    does: str
    min_nodes: int = Field(default=1, gt=0)
    max_nodes: int = Field(gt=0)
    max_edges: int = Field(ge=0)
    max_text: int = Field(default=6000, gt=0)
    roles: dict[str, Role]
    starts: dict[str, Start] = Field(default_factory=dict)
    ask: str
    audit: str = "general"

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for name, role in self.roles.items():
            read = [source for port in role.reads.values() for source in port.roles]
            for source in read:
                if source not in self.roles:
                    raise ValueError(f"{name} reads {source!r}, which is no role{nearest(source, self.roles)}")
                if read.count(source) > 1:
                    raise ValueError(f"{name} reads {source!r} in more than one place")
                if self.roles[source].tools == "write":
                    raise ValueError(f"{name} reads {source!r}, which writes; nothing may read the role that writes")
        if ":" not in self.audit and self.audit not in AUDITORS:
            raise ValueError(
                f"there is no auditor {self.audit!r}{nearest(self.audit, AUDITORS)}; one of your own is module:function"
            )
        writers = [name for name, role in self.roles.items() if role.tools == "write"]
        if len(writers) > 1:
            raise ValueError(f"only one role may write, not {' and '.join(writers)}")
        if any(self.roles[name].most != 1 or not self.roles[name].output for name in writers):
            raise ValueError(f"the role that writes, {writers[0]}, needs `most: 1` and `output: true`")
        if not any(role.output for role in self.roles.values()):
            raise ValueError("no role may give the output; one needs `output: true`")
        return self

    @cached_property
    def writer(self) -> str | None:
        """The role that may write, if there is one."""
        return next((name for name, role in self.roles.items() if role.tools == "write"), None)

    def port(self, reader: str, source: str) -> str | None:
        """The port of the role ``reader`` that the role ``source`` feeds; ``None`` where it may not, or where either is no role."""
        role = self.roles.get(reader)
        ports = role.reads.items() if role else ()
        return next((name for name, port in ports if source in port.roles), None)

    def sources(self, reader: str) -> tuple[str, ...]:
        """The roles that the role ``reader`` may read."""
        return tuple(source for port in self.roles[reader].reads.values() for source in port.roles)

    def holdable(self, role: str, tools: Effects) -> tuple[str, ...]:
        """Those of ``tools`` that the role may hold, in their order."""
        may = self.roles[role].tools
        return tuple(name for name, effect in tools.items() if may == "write" or (may == "read" and effect == "read"))

    @cached_property
    def prompts(self) -> Prompts:
        """The templates, with a version that changes whenever their words do. Raises jinja2.TemplateError for one that is none."""
        templates = {f"role {name}": role.prompt for name, role in self.roles.items()}
        return Prompts(yaml.safe_dump({"version": self.version, "ask": self.ask, **templates}, allow_unicode=True))

    def instructions(self, node: Node) -> str:
        """What ``node`` is told about how to work: its role's words and its own prompt."""
        return self.prompts(f"role {node.role}", node=node)

    def request(self, node: Node, *, question: str, context: str = "", inputs: Sequence[Given] = ()) -> str:
        """What ``node`` is asked: the task, its part of it, and what it reads, in the order of its inputs."""
        quoted = [given._replace(text=below_heading(given.text)) for given in inputs]
        return self.prompts("ask", question=question, context=context, subtask=node.subtask, inputs=quoted)

    def outline(self) -> str:
        """The roles and limits for whoever designs a workflow, in a few lines that are always the same."""
        lines = []
        for name, role in self.roles.items():
            reads = "; ".join(
                f"{port_name} from {' or '.join(port.roles)} ({port.number})" for port_name, port in role.reads.items()
            )
            facts = [
                f"reads {reads}" if reads else "reads nothing",
                {"none": "no tools", "read": "tools that only read", "write": "any tools, the only one that may write"}[
                    role.tools
                ],
            ]
            if role.least or role.most:
                facts.append(f"{number_in_words(role.least, role.most)} of it")
            if role.one_holds:
                facts.append(f"at least one holds {' or '.join(role.one_holds)}")
            if role.output:
                facts.append("may give the output")
            lines.append(f"{name}: {role.does} ({', '.join(facts)})")
        limits = f"{number_in_words(self.min_nodes, self.max_nodes)} nodes, at most {count(self.max_edges, 'edge')}"
        return "\n".join([*lines, f"{limits}; exactly one node that nobody reads gives the output."])


@runtime_checkable
class BringsRoles(Protocol):
    """A world with a role set of its own: the object, or the name of one that ``named_roles`` knows."""

    @property
    def roles(self) -> RoleSet | str:
        """The role set, or its name."""
        ...


def starts_of(roles: RoleSet, tools: Effects) -> dict[str, Workflow]:
    """Those starts of ``roles`` that are valid with ``tools``, as workflows, in their order."""
    from motet.inherit.validity import validate

    found: dict[str, Workflow] = {}
    for name, start in roles.starts.items():
        nodes = [node.model_copy(update={"tools": _all_tools(node.role, roles, tools)}) for node in start.nodes]
        workflow = Workflow(name=name, nodes=tuple(nodes))
        if not validate(workflow, roles, tools):
            found[name] = workflow
    return found


def _all_tools(role: str, roles: RoleSet, tools: Effects) -> tuple[str, ...]:
    if role not in roles.roles:
        return ()
    holdable = roles.holdable(role, tools)
    return tuple(name for name in holdable if tools[name] == "write") if role == roles.writer else holdable


def roles_for(world: World | None, *, given: RoleSet | str | None = None) -> RoleSet:
    """The role set to work with: ``given``, else what the world brings, else the one of the world's name, else ``general``.

    Asked of the world itself, not of a staged one. Raises InputError for an unknown name.
    """
    if given is None and isinstance(world, BringsRoles):
        given = world.roles
    if given is None:
        given = world.name if world is not None and world.name in ROLE_SETS else "general"
    return named_roles(given) if isinstance(given, str) else given


def named_roles(name: str) -> RoleSet:
    """A role set by name, or from a YAML file. Raises InputError for an unknown name or a file that is no role set."""
    if name.endswith((".yaml", ".yml")):
        return read_roles(Path(name))
    if name not in ROLE_SETS:
        raise InputError(f"there is no role set {name!r}{nearest(name, ROLE_SETS)}; a file of your own ends with .yaml")
    return _shipped(name)


def read_roles(path: Path) -> RoleSet:
    """The role set in a YAML file. Raises InputError naming the file and what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"role set {path} cannot be read: {error}") from None
    return _parse(text, place=str(path))


def number_in_words(least: int, most: int | None) -> str:
    """``exactly 1``, ``at least 1``, ``at most 2``, ``2 to 9``, ``any number``."""
    if most is None:
        return f"at least {least}" if least else "any number"
    if least == most:
        return f"exactly {most}"
    return f"{least} to {most}" if least else f"at most {most}"


@cache
def _shipped(name: str) -> RoleSet:
    text = files("motet.inherit").joinpath("roles", f"{name}.yaml").read_text(encoding="utf-8")
    return _parse(text, place=f"{name}.yaml")


def _parse(text: str, *, place: str) -> RoleSet:
    from jinja2 import TemplateError

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"role set {place} is no YAML: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(data, dict):
        raise InputError(f"role set {place} is no mapping")
    try:
        roles = RoleSet.model_validate(data)
        roles.prompts  # noqa: B018 - a template that is none should be told where the file is read, not in the middle of a run
    except ValidationError as error:
        raise InputError(f"role set {place}: {explain(error, RoleSet)}") from None
    except TemplateError as error:
        raise InputError(f"role set {place}: a prompt is no template: {error}") from None
    return roles
