"""Plots as inline SVG for pages: one figure each, in the page's own ink, the same bytes for the same figures."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from motet.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Lines and texts are drawn in an ink of which the page then makes its own text colour, light or dark.
_INK = "#010203"


def picture(draw: Callable[[Axes], bool], *, height: float = 3.4) -> str | None:
    """What ``draw`` draws, as SVG of 8 by ``height`` inches; ``None`` where it says that there is nothing to draw.

    Raises InputError when the plotting library is missing.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise InputError("the HTML report needs its plotting library: pip install 'motet[bench]'") from None

    with mpl.rc_context(
        {
            # Names within the file are the same each time; texts stay texts, and a dollar in them is a dollar.
            "svg.hashsalt": "motet",
            "svg.fonttype": "none",
            "text.parse_math": False,
            "text.color": _INK,
            "axes.edgecolor": _INK,
            "axes.labelcolor": _INK,
            "xtick.color": _INK,
            "ytick.color": _INK,
        }
    ):
        figure = Figure(figsize=(8, height), layout="constrained")
        axes = figure.subplots()
        axes.spines[["top", "right"]].set_visible(False)
        if not draw(axes):
            return None
        buffer = io.StringIO()
        # No date: the same figures give the same file.
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    text = buffer.getvalue()
    return text[text.index("<svg") :].replace(_INK, "currentColor")
