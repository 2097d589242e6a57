"""What a call cost. Unknown is ``None`` and stays unknown: it is never shown or summed as zero."""

from __future__ import annotations

from typing import Literal, TypeAlias

from motet.value import Value

# How a result came to be in this run: paid for now, paid for earlier in the same run (read back from
# the journal on resume), or inherited from a verified record. The ledger keeps a column for each.
Origin: TypeAlias = Literal["paid", "earlier", "inherited"]


class Usage(Value):
    """Tokens of one model call, as the provider reported them. ``cached`` is part of ``prompt``, ``reasoning`` of
    ``completion``; ``latent_steps`` counts latent decoding steps, which emit no token.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    latent_steps: int = 0

    @property
    def known(self) -> bool:
        """Whether both billable counts are known."""
        return self.prompt is not None and self.completion is not None

    @property
    def tokens(self) -> int | None:
        """Prompt plus completion tokens, or ``None`` when either is unknown."""
        if self.prompt is None or self.completion is None:
            return None
        return self.prompt + self.completion


class Totals(Value):
    """A sum of usages. ``unknown`` counts calls that reported no usage and ``unpriced`` calls without a price, so that a
    reader can tell a small sum from an incomplete one. Money is in US dollars.
    """

    calls: int = 0
    failed: int = 0
    unknown: int = 0
    unpriced: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    reasoning: int = 0
    latent_steps: int = 0
    money: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompt plus completion tokens of the calls whose usage is known."""
        return self.prompt + self.completion

    def plus(self, usage: Usage, *, money: float | None, failed: bool = False) -> Totals:
        """These totals with one more call."""
        return Totals(
            calls=self.calls + 1,
            failed=self.failed + failed,
            unknown=self.unknown + (not usage.known),
            unpriced=self.unpriced + (money is None),
            prompt=self.prompt + (usage.prompt or 0),
            cached=self.cached + (usage.cached or 0),
            completion=self.completion + (usage.completion or 0),
            reasoning=self.reasoning + (usage.reasoning or 0),
            latent_steps=self.latent_steps + usage.latent_steps,
            money=self.money + (money or 0.0),
        )

    def __add__(self, other: Totals) -> Totals:
        return Totals(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})
