"""``motet inherit check``: says what is wrong with a workflow file, or shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from motet.cli.options import JsonOption


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A workflow as YAML or JSON.")],
    roles: Annotated[
        str | None,
        typer.Option(
            "--roles", metavar="NAME", help="The role set, by name or file (default: the world's, else general)."
        ),
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Option("--tools", metavar="A,B", help="The tools that nodes may hold. May be repeated.")
    ] = None,
    world: Annotated[
        str | None, typer.Option("--world", metavar="MODULE:CLASS", help="The world whose tools they may hold.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check a workflow file before any model is asked.

    Prints everything that is wrong, each with its rule, its node and what would be right, and ends with 2; or the workflow's outline and its
    picture as a Mermaid flowchart, and ends with 0.

    \b
    Examples:
      motet inherit check team.yaml --tools corpus:examples/corpus
      motet inherit check team.yaml --roles hotpotqa --json
      motet solve "…" --system inherit -c start=team.yaml
    """
    import sys

    from motet.cli.given import split_names
    from motet.cli.terminal import clean, json_text, say
    from motet.inherit.render import outline, to_mermaid
    from motet.inherit.roles import effects, roles_for
    from motet.inherit.validity import validate
    from motet.inherit.workflow import load_workflow
    from motet.tools.load import load_tools
    from motet.worlds.load import open_world
    from motet.worlds.shared import Shared

    workflow = load_workflow(file)
    opened = open_world(world)
    given = Shared(opened, load_tools(split_names(tools or ()), allow_weak_sandbox=True))
    role_set, may = roles_for(opened, given=roles), effects(given.tools())
    problems = validate(workflow, role_set, may)
    if as_json:
        document: dict[str, Any] = {
            "file": str(file),
            "hash": workflow.hash,
            "roles": role_set.name,
            "tools": may,
            "valid": not problems,
            "problems": [problem.model_dump(mode="json") for problem in problems],
        }
        sys.stdout.write(f"{json_text(document)}\n")
    elif not problems:
        sys.stdout.write(clean(f"{outline(workflow)}\n\n{to_mermaid(workflow)}\n"))
    if not problems:
        return 0
    if not as_json:
        for problem in problems:
            allowed = f" (allowed: {', '.join(problem.allowed)})" if problem.allowed else ""
            sys.stdout.write(f"{clean(f'[{problem.rule}] {problem.message}{allowed}')}\n")
    number = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    say(f"motet: {file} is no valid workflow with the roles of {role_set.name!r}: {number}")
    return 2
