"""What a server answers is not believed blindly."""

from __future__ import annotations

import pytest

from motet.models.endpoint import Endpoint
from motet.models.model import ModelInfo, Reply, ToolCall
from motet.models.wire import usage_of
from motet.settings import Provider
from motet.usage import Usage


@pytest.mark.parametrize("count", [2**53, 2**62, 10**30, -1, True, "7", 1.5])
def test_a_count_that_no_request_could_use_is_unknown(count: object) -> None:
    """A sum of such counts would overflow the store; they are unknown, and not zero."""
    assert usage_of({"prompt_tokens": count, "completion_tokens": 3}) == Usage()
    assert usage_of({"prompt_tokens": 3, "completion_tokens": count}).completion is None


def test_a_key_that_a_server_writes_into_its_answer_goes_no_further() -> None:
    """Text, reasoning and tool arguments are stored and shown, so our own key is taken out of them."""
    key = "sk-a-secret-of-ours"
    info = ModelInfo(name="m", identity="m", provider="p")
    endpoint = Endpoint(info, model="m", provider=Provider(base_url="http://127.0.0.1:9/v1"), key=key)
    call = ToolCall(id="c", name="t", arguments=f'{{"a": "{key}"}}')
    masked = endpoint._masked(Reply(text=f"it is {key}", reasoning=key, tool_calls=(call,)))
    assert key not in masked.model_dump_json()
    assert masked.text == "it is [key]"
    untouched = Reply(text="nothing of the kind", tool_calls=(call.model_copy(update={"arguments": "{}"}),))
    assert endpoint._masked(untouched) is untouched
