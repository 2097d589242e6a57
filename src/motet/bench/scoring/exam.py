"""Short exact answers with an explanation and a confidence, as BrowseComp and Humanity's Last Exam ask for them.

A judge compares the response with the right answer (Phan et al., arXiv 2501.14249, whose form BrowseComp took over). Beside it, or alone where there is no judge, stands exact match: the stated answer
is the right one but for case, spaces and marks around it, the same number, or the same option.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from pydantic import JsonValue

from motet.bench.scoring.calibration import stated_confidence
from motet.bench.scoring.judge import Judges, Verdict, ask_judges
from motet.bench.scoring.numbers import same_number
from motet.bench.scoring.options import extract_option
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Result, Score
from motet.value import Value

PROMPTS = "exam"
UNSTATED = 1.0  # the confidence of an answer that states none, in the published evaluation

_READ = 20_000  # characters at the end of a response
_MARKS = r"[ \t>*_#|-]{0,8}"
_ANSWER = re.compile(
    rf"^{_MARKS}(?:exact |final )?answer[*_ \t]{{0,4}}:[*_ \t]{{0,4}}([^\n]*)(?:\n[ \t]*([^\n]*))?",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER = re.compile(rf"^{_MARKS}(?:explanation|confidence)\b", re.IGNORECASE)
_AROUND = " \t\"'“”‘’`*_$"


class _Extraction(Value):
    extracted_answer: str


# The answer is read out before it is judged: a model writes the fields in this order, and those of the last base come first.
class ExamVerdict(Verdict, _Extraction):
    """What a judge says of one response. ``confidence`` is a percentage, ``None`` where the response states none."""

    confidence: float | None


def exam_task(question: str) -> str:
    """``question`` with the form that a response must have."""
    return load_prompts("motet.bench", PROMPTS)("task", question=question)


def exam_version() -> str:
    """Of the words of tasks and judges."""
    return load_prompts("motet.bench", PROMPTS).version


async def score_exam(
    judges: Sequence[str], *, question: str, right: str, result: Result, run: Run, option: bool = False
) -> tuple[Score, ...]:
    """Judge ``result``: by ``judges`` where there are any, and by exact match. The first score's details say the confidence.

    With ``option`` the right answer is a letter. Raises only what ``ask_judges`` lets pass.
    """
    response = (result.answer or "").strip()
    stated = stated_answer(response)
    same = same_option(stated, right) if option else same_answer(stated, right)
    exact = Score(scorer="em", value=float(same), correct=same, details={"answer": stated[:300]})
    confidence = stated_confidence(response)
    if confidence is None:
        confidence = _share(result.details.get("confidence"))
    if not judges:
        return (_with(exact, confidence, response),)
    verdict = await ask_judges(
        Judges(models=tuple(judges)),
        question=question,
        right=right,
        answer=response,
        run=run,
        prompts=PROMPTS,
        verdict=ExamVerdict,
    )
    if confidence is None:
        confidence = _read_by(verdict.details.get("judges"))
    return (_with(verdict, confidence, response), exact)


def stated_answer(response: str) -> str:
    """What stands after the last ``Exact Answer:`` or ``Answer:``, on that line or the next; else the response, where it is one line. Empty where there is none."""
    response = response[-_READ:]
    found = list(_ANSWER.finditer(response))
    if found:
        line, following = found[-1][1], found[-1][2] or ""
        answer = line if line.strip(_AROUND) or _OTHER.match(following) else following
    else:
        lines = [line for line in response.splitlines() if line.strip() and not _OTHER.match(line)]
        answer = lines[0] if len(lines) == 1 else ""
    return answer.strip(_AROUND)


def same_answer(given: str, right: str) -> bool:
    """Whether both are the same words, or the same number. Nothing is never right."""
    return bool(_plain(given)) and (_plain(given) == _plain(right) or same_number(given, right))


def same_option(given: str, right: str) -> bool:
    """Whether ``given`` chooses the letter ``right``."""
    return bool(given) and extract_option(f"Answer: {given}", count=26) == right.strip().upper()


def _plain(text: str) -> str:
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(_AROUND).removesuffix(".").strip(_AROUND)


def _with(score: Score, confidence: float | None, response: str) -> Score:
    """``score`` with the confidence that it is to be compared with; none for a response that is not there."""
    if not response:
        return score
    told: dict[str, JsonValue] = {
        "confidence": UNSTATED if confidence is None else confidence,
        "confidence_stated": confidence is not None,
    }
    return score.model_copy(update={"details": {**score.details, **told}})


def _share(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _read_by(opinions: JsonValue) -> float | None:
    """The confidence that the first judge read out of the response."""
    for opinion in opinions if isinstance(opinions, list) else ():
        value = opinion.get("confidence") if isinstance(opinion, dict) else None
        if not isinstance(value, bool) and isinstance(value, int | float):
            return _share(value / 100)
    return None
