"""Inherit-MAS: workflows that evolve by one edit at a time, and never compute the same thing twice."""

from motet.inherit.choices import Choice, enumerate_edits, menu
from motet.inherit.differences import Change, Diff, diff, diff_mermaid
from motet.inherit.edits import KINDS, Edit, Kind, apply, check, check_drop, drop, place, read_edit, removable
from motet.inherit.render import outline, to_dot, to_mermaid
from motet.inherit.roles import Effects, Given, Port, Role, RoleSet, effects, named_roles, read_roles, roles_for
from motet.inherit.validity import Problem, in_words, require, validate
from motet.inherit.workflow import Node, Workflow, json_schema, read_workflow

__all__ = [
    "KINDS",
    "Change",
    "Choice",
    "Diff",
    "Edit",
    "Effects",
    "Given",
    "Kind",
    "Node",
    "Port",
    "Problem",
    "Role",
    "RoleSet",
    "Workflow",
    "apply",
    "check",
    "check_drop",
    "diff",
    "diff_mermaid",
    "drop",
    "effects",
    "enumerate_edits",
    "in_words",
    "json_schema",
    "menu",
    "named_roles",
    "outline",
    "place",
    "read_edit",
    "read_roles",
    "read_workflow",
    "removable",
    "require",
    "roles_for",
    "to_dot",
    "to_mermaid",
    "validate",
]
