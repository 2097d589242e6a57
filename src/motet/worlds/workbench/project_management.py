"""The project boards: tasks with an assignee, a list, a due date and a board."""

from __future__ import annotations

from motet.worlds.workbench.patterns import searcher
from motet.worlds.workbench.render import Output
from motet.worlds.workbench.tables import Cell, State
from motet.worlds.workbench.values import Given, lower, next_id, text

_LISTS = ("Backlog", "In Progress", "In Review", "Completed")
_BOARDS = ("Back end", "Front end", "Design")
_BAD_ASSIGNEE = "Assignee email not valid. Please choose from the list of team members."
_BAD_LIST = "List not valid. Please choose from: 'Backlog', 'In Progress', 'In Review', 'Completed'."
_BAD_BOARD = "Board not valid. Please choose from: 'Back end', 'Front end', 'Design'."


def get_task_information_by_id(state: State, /, task_id: Given = None, field: Given = None) -> Output:
    """One field of a task."""
    if not task_id:
        return "Task ID not provided."
    if not field:
        return "Field not provided."
    task = state.projects.first("task_id", task_id)
    if task is None:
        return "Task not found."
    return {text(field): task[text(field)]} if field in task else "Field not found."


def search_tasks(
    state: State,
    /,
    task_name: Given = None,
    assigned_to_email: Given = None,
    list_name: Given = None,
    due_date: Given = None,
    board: Given = None,
) -> Output:
    """All tasks that hold every given text in its field."""
    wanted = {
        "task_name": task_name,
        "assigned_to_email": assigned_to_email,
        "list_name": list_name,
        "due_date": due_date,
        "board": board,
    }
    if not any(wanted.values()):
        return "No search parameters provided."
    found = state.projects
    for column, pattern in wanted.items():
        if pattern:
            holds = searcher(pattern, ignore_case=True)
            found = found.where(column, lambda cell, holds=holds: isinstance(cell, str) and holds(cell))  # type: ignore[misc]
    return [found.record(row) for row in found.rows]


def create_task(
    state: State,
    /,
    task_name: Given = None,
    assigned_to_email: Given = None,
    list_name: Given = None,
    due_date: Given = None,
    board: Given = None,
) -> Output:
    """Add a task; its id is returned. All labels are counted anew."""
    if not all((task_name, assigned_to_email, list_name, due_date, board)):
        return "Missing task details."
    assignee = lower(assigned_to_email)
    if assignee not in state.projects.column("assigned_to_email"):
        return _BAD_ASSIGNEE
    if list_name not in _LISTS:
        return _BAD_LIST
    if board not in _BOARDS:
        return _BAD_BOARD
    task_id = next_id(state.projects.column("task_id"), width=8)
    task: dict[str, Cell] = {
        "task_id": task_id,
        "task_name": task_name,
        "assigned_to_email": assignee,
        "list_name": list_name,
        "due_date": due_date,
        "board": board,
    }
    state.projects = state.projects.append(task, label=0).relabelled()
    return task_id


def delete_task(state: State, /, task_id: Given = None) -> Output:
    """Delete a task."""
    if not task_id:
        return "Task ID not provided."
    if task_id not in state.projects.column("task_id"):
        return "Task not found."
    state.projects = state.projects.without("task_id", task_id)
    return "Task deleted successfully."


def update_task(state: State, /, task_id: Given = None, field: Given = None, new_value: Given = None) -> Output:
    """Change one field of a task. The id is a field like any other."""
    if not task_id or not field or not new_value:
        return "Task ID, field, or new value not provided."
    new = new_value
    if field == "assigned_to_email":
        new = lower(new_value)
        if new not in state.projects.column("assigned_to_email"):
            return _BAD_ASSIGNEE
    if field == "list_name" and new not in _LISTS:
        return _BAD_LIST
    if field == "board" and new not in _BOARDS:
        return _BAD_BOARD
    if task_id not in state.projects.column("task_id"):
        return "Task not found."
    if field not in state.projects.columns:
        return "Field not valid."
    state.projects = state.projects.set("task_id", task_id, field=text(field), new=new)
    return "Task updated successfully."
