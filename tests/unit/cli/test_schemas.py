"""The shipped schemas are schemas, and refuse what they should."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from accel_tui import schemas
from accel_tui.model.errors import AccelError, UsageError
from accel_tui.model.runs import Cause, RunResult, RunState
from support.schemas import check


@pytest.mark.parametrize("name", schemas.names())
def test_each_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schemas.load(name))


def test_words_agree_with_the_model() -> None:
    run = schemas.load("run")["$defs"]["run"]["properties"]
    assert run["state"]["enum"] == [state.value for state in RunState]
    assert run["result"]["enum"] == [*(result.value for result in RunResult), None]
    assert run["cause"]["enum"] == [*(cause.value for cause in Cause), None]
    codes = schemas.load("error")["properties"]["error"]["properties"]["code"]["enum"]
    # Those of other modules never leave their process, and whether they are loaded depends on other tests.
    every: list[type[AccelError]] = [AccelError, *AccelError.__subclasses__()]
    kinds = [kind for kind in every if kind.__module__ == AccelError.__module__]
    assert set(codes) == {kind.code for kind in kinds}


def test_a_wrong_document_is_named() -> None:
    check("error", {"schema": 1, "error": UsageError("x").to_json()})
    with pytest.raises(AssertionError, match="message"):
        check("error", {"schema": 1, "error": {"code": "usage", "remedy": None}})
