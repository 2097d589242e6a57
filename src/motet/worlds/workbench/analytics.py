"""Website visits, which can be counted and plotted. A plot is a name of a file; nothing is drawn.

Reading does not change anything here. In the benchmark, the average without any bound turns the durations in memory to numbers, so that later reads of a visitor print
4.0 in place of '4'; no recorded call does so, and reads that write could not be reused.
"""

from __future__ import annotations

from collections import defaultdict

from motet.worlds.workbench.render import Output
from motet.worlds.workbench.tables import Cell, State
from motet.worlds.workbench.values import Given, text

_VALUES = (
    "total_visits",
    "session_duration_seconds",
    "user_engaged",
    "visits_direct",
    "visits_referral",
    "visits_search_engine",
    "visits_social_media",
)
_TYPES = ("bar", "line", "scatter", "histogram")


def get_visitor_information_by_id(state: State, /, visitor_id: Given = None) -> Output:
    """All visits of one visitor."""
    if not visitor_id:
        return "Visitor ID not provided."
    found = state.analytics.where("visitor_id", lambda cell: cell == visitor_id)
    return [found.record(row) for row in found.rows] or "Visitor not found."


def create_plot(
    state: State,
    /,
    time_min: Given = None,
    time_max: Given = None,
    value_to_plot: Given = None,
    plot_type: Given = None,
) -> Output:
    """Plot a value over time; the name of the file is returned."""
    if not time_min:
        return "Start date not provided."
    if not time_max:
        return "End date not provided."
    if value_to_plot not in _VALUES:
        return (
            "Value to plot must be one of 'total_visits', 'session_duration_seconds', 'user_engaged', 'direct', 'referral', "
            "'search engine', 'social media'"
        )
    if plot_type not in _TYPES:
        return "Plot type must be one of 'bar', 'line', 'scatter', or 'histogram'"
    path = f"plots/{time_min}_{time_max}_{value_to_plot}_{plot_type}.png"
    state.plots = state.plots.append({"file_path": path}, label=len(state.plots))
    return path


def total_visits_count(state: State, /, time_min: Given = None, time_max: Given = None) -> Output:
    """Visits by day."""
    return {day: len(cells) for day, cells in _by_day(state, "visitor_id", time_min, time_max).items()}


def engaged_users_count(state: State, /, time_min: Given = None, time_max: Given = None) -> Output:
    """Visits of engaged users by day."""
    by_day = _by_day(state, "user_engaged", time_min, time_max)
    return {day: sum(cell is True for cell in cells) for day, cells in by_day.items()}


def traffic_source_count(
    state: State, /, time_min: Given = None, time_max: Given = None, traffic_source: Given = None
) -> Output:
    """Visits by day that came from one source, or from any."""
    by_day = _by_day(state, "traffic_source", time_min, time_max)
    return {
        day: sum(cell == traffic_source for cell in cells) if traffic_source else len(cells)
        for day, cells in by_day.items()
    }


def get_average_session_duration(state: State, /, time_min: Given = None, time_max: Given = None) -> Output:
    """Mean seconds of a visit by day."""
    by_day = _by_day(state, "session_duration_seconds", time_min, time_max)
    return {day: sum(int(text(cell)) for cell in cells) / len(cells) for day, cells in by_day.items()}


def _by_day(state: State, column: str, time_min: Given, time_max: Given) -> dict[str, list[Cell]]:
    """The cells of ``column`` by day, days ascending. The bounds are compared as text, and belong to the range."""
    table = state.analytics
    date, index = table.columns.index("date_of_visit"), table.columns.index(column)
    earliest = text(time_min) if time_min else None
    latest = text(time_max) if time_max else None
    days: defaultdict[str, list[Cell]] = defaultdict(list)
    for row in table.rows:
        day = row[date]
        assert isinstance(day, str)
        if (earliest is None or day >= earliest) and (latest is None or day <= latest):
            days[day].append(row[index])
    return {day: days[day] for day in sorted(days)}
