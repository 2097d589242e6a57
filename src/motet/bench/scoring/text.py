"""Exact match, F1 and supporting facts, exactly as HotpotQA's official evaluation computes them.

Source: ``hotpot_evaluate_v1.py`` (https://github.com/hotpotqa/hotpot), described in Yang et al., "HotpotQA" (EMNLP 2018), section 5.2.
Everything here is a pure function; what a system wrote is turned into answers and facts elsewhere.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

# A supporting fact: a title and the number of a sentence under it, compared as they are ("0" is not 0).
Fact: TypeAlias = tuple[Hashable, Hashable]

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True)
class Agreement:
    """How well a prediction agrees with the gold: exact match (0 or 1), F1, precision and recall."""

    em: float = 0.0
    f1: float = 0.0
    precision: float = 0.0
    recall: float = 0.0


NONE = Agreement()  # of an answer that is not there


@dataclass(frozen=True)
class Predictions:
    """A prediction file: answers and supporting facts by question id; either may lack an id."""

    answers: Mapping[str, str]
    facts: Mapping[str, Collection[Fact]]


@dataclass(frozen=True)
class Gold:
    """What is right for one question."""

    id: str
    answer: str
    facts: Collection[Fact]


@dataclass(frozen=True)
class Evaluation:
    """The twelve official figures, as means over all gold questions, and the ids that a prediction file lacked."""

    answer: Agreement
    facts: Agreement
    joint: Agreement
    missing_answers: tuple[str, ...] = ()
    missing_facts: tuple[str, ...] = ()


def normalise(text: str) -> str:
    """``text`` in lower case without ASCII punctuation, English articles and spare blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, gold: str) -> bool:
    """Whether both are the same once normalised."""
    return normalise(prediction) == normalise(gold)


def answer_agreement(prediction: str, gold: str) -> Agreement:
    """Agreement of two answers as multisets of words. A yes, no or noanswer agrees with itself only.

    Two answers without any word match exactly and still have F1 0, as in the official evaluation.
    """
    predicted, right = normalise(prediction), normalise(gold)
    em = float(predicted == right)
    if not em and (predicted in _CLOSED or right in _CLOSED):
        return NONE
    predicted_words, right_words = predicted.split(), right.split()
    shared = sum((Counter(predicted_words) & Counter(right_words)).values())
    if not shared:
        return Agreement(em=em)
    precision, recall = shared / len(predicted_words), shared / len(right_words)
    return Agreement(em, _harmonic(precision, recall), precision, recall)


def fact_agreement(predicted: Collection[Fact], gold: Collection[Fact]) -> Agreement:
    """Agreement of two sets of supporting facts. Two empty sets match exactly and have F1 0, as in the official evaluation."""
    given, right = set(predicted), set(gold)
    shared = len(given & right)
    precision = shared / len(given) if given else 0.0
    recall = shared / len(right) if right else 0.0
    return Agreement(float(given == right), _harmonic(precision, recall), precision, recall)


def joint_agreement(answer: Agreement, facts: Agreement) -> Agreement:
    """Both at once: precisions and recalls are multiplied, and both must match exactly."""
    precision, recall = answer.precision * facts.precision, answer.recall * facts.recall
    return Agreement(answer.em * facts.em, _harmonic(precision, recall), precision, recall)


def evaluate(predictions: Predictions, gold: Sequence[Gold]) -> Evaluation:
    """The official figures. An id that lacks its answer or its facts adds 0 to that part and to the joint one; the other part counts."""
    answers, facts, joints = [], [], []
    missing_answers, missing_facts = [], []
    for item in gold:
        answer = fact = None
        if item.id in predictions.answers:
            answer = answer_agreement(predictions.answers[item.id], item.answer)
        else:
            missing_answers.append(item.id)
        if item.id in predictions.facts:
            fact = fact_agreement(predictions.facts[item.id], item.facts)
        else:
            missing_facts.append(item.id)
        answers.append(answer or NONE)
        facts.append(fact or NONE)
        joints.append(joint_agreement(answer, fact) if answer and fact else NONE)
    return Evaluation(
        answer=_mean(answers),
        facts=_mean(facts),
        joint=_mean(joints),
        missing_answers=tuple(missing_answers),
        missing_facts=tuple(missing_facts),
    )


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _mean(agreements: Sequence[Agreement]) -> Agreement:
    count = len(agreements) or 1
    return Agreement(
        **{field.name: sum(getattr(one, field.name) for one in agreements) / count for field in fields(Agreement)}
    )
