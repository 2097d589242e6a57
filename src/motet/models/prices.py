"""What a model's tokens cost: the user's own prices first, then the table that `genai-prices` ships."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

from motet.errors import InputError
from motet.models.model import Price


def price_of(provider: str, model: str, *, prices: Mapping[str, Price] | None = None) -> Price | None:
    """The price of ``model`` at ``provider`` (a provider's name such as ``openai``, or a base URL), or ``None`` if unknown.

    ``prices`` are looked up under ``provider:model``, then ``model``. A model at an address that the table does not know has
    no price, whatever its name: somebody else serves it. Where a price depends on the prompt's length, the price of short
    prompts counts. Works offline.
    """
    own = prices or {}
    for name in (f"{provider}:{model}", model):
        if name in own:
            return own[name]
    from genai_prices.data_snapshot import get_snapshot

    id_, url = (None, provider) if "://" in provider else (provider, None)
    try:
        _, known = get_snapshot().find_provider_model(model, None, id_, url)
        table = known.get_prices(datetime.now(UTC))
    except LookupError:
        return None
    prompt, completion = _dollars(table.input_mtok), _dollars(table.output_mtok)
    if prompt is None or completion is None:
        return None
    return Price(prompt=prompt, completion=completion, cached=_dollars(table.cache_read_mtok))


def parse_price(text: str) -> Price:
    """The price that ``IN,OUT`` states, in dollars per million tokens. Raises InputError on anything else."""
    try:
        prompt, completion = (float(part) for part in text.split(","))
    except ValueError:
        prompt = completion = math.nan
    if not (math.isfinite(prompt) and math.isfinite(completion) and prompt >= 0 and completion >= 0):
        raise InputError(f"price {text!r} is not IN,OUT in dollars per million tokens, such as 0.15,0.60")
    return Price(prompt=prompt, completion=completion)


def _dollars(price: object) -> float | None:
    """A table entry as dollars per million tokens."""
    if isinstance(price, Decimal | int | float):
        return float(price)
    base = getattr(price, "base", None)
    return None if base is None else float(base)
