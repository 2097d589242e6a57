"""`motet doctor` and `motet models`."""

from __future__ import annotations

from tests.e2e.command import Desk


def test_doctor_looks_and_makes_nothing(desk: Desk) -> None:
    """Doctor names every part it looked at, says how to mend what it warns of, and leaves no store behind."""
    done = desk.run("doctor", "--json")
    findings = done.json["findings"]
    names = {finding["name"] for finding in findings}
    assert {"motet", "packages", "home", "disk", "settings", "store", "provider", "sandbox"} <= names
    assert done.code == (0 if done.json["ok"] else 1)
    assert not (desk.home / "motet.db").exists()
    assert desk.run("doctor").code == done.code


def test_doctor_fails_on_what_is_broken_and_goes_on(desk: Desk) -> None:
    """A damaged store and a broken settings file are failures of their own; the other looks still happen."""
    (desk.home / "motet.db").write_bytes(b"no database" * 100)
    (desk.home / "config.toml").write_text("[providers.lab]\nbase_ur = 'x'\n", encoding="utf-8")
    done = desk.run("doctor", "--json")
    failed = {finding["name"]: finding["text"] for finding in done.json["findings"] if finding["verdict"] == "fail"}
    assert done.code == 1
    assert "base_url" in failed["settings"]
    assert "motet.db" in failed["run store"]
    assert "sandbox" in {finding["name"] for finding in done.json["findings"]}


def test_models_says_what_is_usable_and_how_to_get_the_rest(desk: Desk) -> None:
    """Each kind of model is usable, not usable with a reason, or to be asked."""
    rows = {row["name"]: row for row in desk.run("models", "--json").json}
    assert rows["openai:NAME"]["usable"] is False
    assert "OPENAI_API_KEY" in rows["openai:NAME"]["note"]
    assert desk.run("models").code == 0


def test_weights_that_are_misspelt_or_have_terms_are_refused(desk: Desk) -> None:
    """An unknown name gets the nearest one; weights under special terms are shown these first."""
    unknown = desk.run("models", "get", "smolm2")
    assert (unknown.code, "did you mean 'smollm2'?" in unknown.err) == (2, True)
    terms = desk.run("models", "get", "gemma3-270m")
    assert (terms.code, "--accept-terms" in terms.err) == (2, True)
