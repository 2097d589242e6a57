"""Judge models: whether an answer means the same as the right one, where no formula can say.

- The judge is asked through the run, under the role ``judge``, so that its calls are journaled and counted apart from the contestant's.
- The answer is untrusted: it is a JSON string in the user message, never part of an instruction.
- With several judges all must accept; where they disagree the answer is wrong and the Score says ``disputed``.
- A judge that fails gives a Score of 0 with ``judge_failed``; it is for the report to show how many there were.
- A judge of a contestant's own family tends to favour it (Panickssery et al., "LLM evaluators recognize and favor their own generations", 2024); the Score
  says ``same_family``, and ``same_family`` can be asked before anything is paid for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel, Field, JsonValue, StrictBool

from motet.canonical import clean_text
from motet.errors import BudgetExceeded, ModelError
from motet.models.model import Message, Model, Request, Sampling
from motet.models.structured import extract_json, structured
from motet.prompts import load_prompts
from motet.runs.run import Run
from motet.task import Score
from motet.value import Value

T = TypeVar("T", bound=BaseModel)

ROLE = "judge"
UNTOLD = "the judge's reply could not be told from what it quoted"
_LONGEST = 8_000  # characters of an answer that a judge reads: its beginning and its end

# Names by which a model's makers can be told. A distilled model belongs to its teacher's family and to its own.
_FAMILIES = {
    "openai": ("gpt", "chatgpt", "davinci", "o1", "o3", "o4", "codex"),
    "anthropic": ("claude",),
    "google": ("gemini", "gemma", "palm", "bard"),
    "meta": ("llama", "codellama"),
    "qwen": ("qwen", "qwq", "qvq", "qwen2", "qwen3"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral", "devstral", "pixtral"),
    "deepseek": ("deepseek",),
    "xai": ("grok",),
    "cohere": ("command", "aya"),
    "microsoft": ("phi",),
    "zhipu": ("glm", "chatglm"),
    "moonshot": ("kimi", "moonshot"),
    "amazon": ("nova", "titan"),
    "huggingface": ("smollm", "smollm2", "smollm3"),
    "nvidia": ("nemotron",),
    "allenai": ("olmo", "tulu"),
    "ibm": ("granite",),
    "ai21": ("jamba",),
    "minimax": ("minimax",),
    "01": ("yi",),
}
_BY_NAME = {name: family for family, names in _FAMILIES.items() for name in names}
_NICKNAMES = {"embedded": frozenset({"huggingface"})}  # SmolLM2


class Verdict(Value):
    """What a judge says of one answer."""

    reason: str
    correct: StrictBool


class Judges(Value):
    """Who judges, and how they are asked. All must accept. ``temperature`` ``None`` leaves it to the model, as some demand."""

    models: tuple[str, ...] = Field(min_length=1)
    max_tokens: int = Field(default=1024, gt=0)
    temperature: float | None = 0.0


async def ask_judges(
    judges: Judges | Sequence[str | Model],
    *,
    question: str,
    right: str,
    answer: str | None,
    run: Run,
    scorer: str = "judge",
    prompts: str = "judge",
    verdict: type[Verdict] = Verdict,
) -> Score:
    """Judge ``answer``. An answer that is not there is wrong, without asking anybody.

    ``prompts`` names the file of the judge's words, whose templates are ``system`` and ``question``; ``verdict`` is what these ask for.

    Only the run's own rules (cancellation, a lost lease), the store's failures and an unknown judge's InputError pass.
    """
    asked = judges if isinstance(judges, Judges) else None
    models: Sequence[str | Model] = judges.models if isinstance(judges, Judges) else judges
    answer = clean_text(answer or "").strip()
    if not answer:
        return Score(scorer=scorer, value=0.0, correct=False, details={"reason": "no answer"})
    request = _request(asked, prompts, question=question, right=right, answer=answer)
    opinions: list[JsonValue] = []
    verdicts: list[bool] = []
    details: dict[str, JsonValue] = {"judges": opinions}
    for judge in models:
        model = run.model(judge, role=ROLE)
        kin = same_family(model.info.name, contestants(run))
        if kin:
            details["same_family"] = [*kin]
            run.emit("judge.same_family", judge=model.info.name, contestants=[*kin])
        try:
            given = await ask_typed(model, request, verdict, quotable="correct" in answer)
        except (ModelError, BudgetExceeded) as error:
            # The budget may have been spent by the contestant; its answer is then unjudged, which is shown and is no point.
            details["judge_failed"] = f"{model.info.name}: {error.kind}: {error}"
            run.emit("judge.failed", judge=model.info.name, error=str(error)[:300])
            return Score(scorer=scorer, value=0.0, correct=False, details=details)
        if given is None:
            verdicts.append(False)
            opinions.append({"judge": model.info.name, "correct": False, "reason": UNTOLD})
            continue
        verdicts.append(given.correct)
        said = {key: value[:500] if isinstance(value, str) else value for key, value in given.model_dump().items()}
        opinions.append({"judge": model.info.name, **said})
    if len(set(verdicts)) > 1:
        details["disputed"] = True
    correct = all(verdicts) and bool(verdicts)
    return Score(scorer=scorer, value=float(correct), correct=correct, details=details)


def contestants(run: Run) -> tuple[str, ...]:
    """The models that have worked in ``run`` so far, the judges left out."""
    found = run.ledger.by(lambda line: line.model if line.role != ROLE else "")
    return tuple(sorted(name for name in found if name))


def same_family(judge: str, models: Iterable[str]) -> tuple[str, ...]:
    """Those of ``models`` that are the judge itself or of its family, as far as names tell."""
    own = families(judge)
    return tuple(model for model in models if model == judge or own & families(model))


def families(model: str) -> frozenset[str]:
    """The families that a model's name tells; for a name that tells none, the name's own first word."""
    name = model.casefold()
    known = _NICKNAMES.get(name)
    if known is not None:
        return known
    # The provider ("openai:gpt-4o", "openrouter:anthropic/claude-…") is where a model runs, not what it is.
    bare = name.partition(":")[2] or name
    words = re.findall(r"[a-z]+\d*|\d+", bare)
    found = {_BY_NAME[form] for word in words for form in (word, word.rstrip("0123456789")) if form in _BY_NAME}
    if found:
        return frozenset(found)
    last = bare.rpartition("/")[2]
    first = re.match(r"[a-z]+", last)
    return frozenset({first.group() if first else last})


async def ask_typed(model: Model, request: Request, type_: type[T], *, quotable: bool) -> T | None:
    """What a judge says, as a ``type_``; ``None`` where its own words cannot be told from what it quoted. Raises ModelError, BadReply among them.

    ``quotable`` says that what is judged may hold a verdict itself: then only a reply that is nothing but JSON is the judge's own.
    """
    found = await structured(model, request, type_)
    text = found.replies[-1].text.strip()
    if quotable and not _is_whole(text):
        found = await structured(model, _repeat(request, text, type_), type_, repairs=0)
        if not _is_whole(found.replies[-1].text.strip()):
            return None
    return found.value


def _request(judges: Judges | None, words: str, *, question: str, right: str, answer: str) -> Request:
    prompts = load_prompts("motet.bench", words)
    given = json.dumps(
        {"question": question, "right_answer": right, "answer": _shortened(answer)}, ensure_ascii=False, indent=1
    )
    return Request(
        messages=(
            Message(role="system", content=prompts("system")),
            Message(role="user", content=prompts("question", given=given)),
        ),
        max_tokens=judges.max_tokens if judges else 1024,
        sampling=Sampling(temperature=judges.temperature if judges else 0.0),
    )


def _repeat(request: Request, text: str, type_: type[BaseModel]) -> Request:
    form = ", ".join(f'"{name}": …' for name in type_.model_fields)
    again = Message(role="user", content=f"Reply with nothing but the JSON object: {{{form}}}.")
    return Request(
        messages=(*request.messages, Message(role="assistant", content=text), again),
        max_tokens=request.max_tokens,
        sampling=request.sampling,
    )


def _is_whole(text: str) -> bool:
    """Whether ``text`` is one JSON object, perhaps in a fence, and nothing else."""
    fenced = re.fullmatch(r"```(?:json)?\s*\n(.*?)\n?```", text, re.DOTALL)
    inner = (fenced.group(1) if fenced else text).strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        return False
    try:
        json.loads(inner)
    except (ValueError, RecursionError):
        return False
    return isinstance(extract_json(inner), dict)


def _shortened(answer: str) -> str:
    if len(answer) <= _LONGEST:
        return answer
    half = _LONGEST // 2
    return f"{answer[:half]}\n[… {len(answer) - _LONGEST} characters left out …]\n{answer[-half:]}"
