"""The form of a job: every value can be typed, faults say why, and what does not matter says so."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accel_tui.jobs import kinds
from accel_tui.jobs.forms.fields import Field, Shape, fields_of
from accel_tui.jobs.forms.form import Form, new_form
from accel_tui.jobs.forms.matter import Setting, why_not_choice, why_off
from accel_tui.jobs.forms.texts import from_text, item_text, split, to_text, with_item, word
from accel_tui.model.secrets import MASK
from support.hostile import TEXTS

EVERY = [field for kind in kinds.names() for field in fields_of(kind)]
TOKEN = "hf_" + "a" * 30
CPU = Setting("cpu")


def field(form: Form, name: str) -> Field:
    return next(one for one in form.fields if one.name == name)


def train(**arguments: Any) -> Form:
    tables = {"model": {"path": "/models/tiny"}, "data": {"path": "/data/text.txt"}, "train": {"arguments": arguments}}
    return Form({"name": "tune", "kind": "train", **tables})


def samples(one: Field) -> list[Any]:
    """Values that a field may hold."""
    texts = ["plain", "two words", " blanks ", 'a "quote"', '"quoted"', "it's", "\\", "ä…字", "1", "true", "\x1b[31m\n"]
    values: dict[Shape, list[Any]] = {
        Shape.TEXT: texts,
        Shape.WHOLE: [0, 1, -3, 41_210, 2**31],
        Shape.NUMBER: [0.05, 2e-4, 1e-8, 5, 1e22, -0.0],
        Shape.DURATION: [1.0, 90.0, 5400.0, 90061.0, 0.5, 1e9],
        Shape.FLAG: [True, False],
        Shape.CHOICE: list(one.choices),
        Shape.WORDS: [[], ["a"], texts, ["", "--x=", "$HOME", "`ls`", "a\tb"]],
        Shape.ITEMS: [[], texts],
        Shape.VARIABLES: [{}, {f"NAME_{number}": text for number, text in enumerate(["", "=", *texts])}],
        Shape.VALUE: [*texts, 1, 1.5, True, [1, "a", [2.0]], {"a b": {"c": [1]}, "d": "x y"}, {}],
    }
    return values[one.shape]


@pytest.mark.parametrize("kind", kinds.names())
def test_every_declared_field_of_every_kind_comes_back_from_its_text(kind: str) -> None:
    for one in fields_of(kind):
        for value in samples(one):
            if one.rows:
                assert through_rows(one, value) == value, one.name
                continue
            text = to_text(one, value)
            assert text.isprintable(), f"{one.name}: {text!r}"
            found = from_text(one, text)
            assert (found, type(found)) == (value, type(value)), f"{one.name}: {value!r} as {text!r}"


def through_rows(one: Field, value: Any) -> Any:
    built: Any = None
    for number in range(len(value)):
        text = item_text(one, value, number)
        assert text.isprintable()
        built = with_item(one, built, number, text)
    return type(value)() if built is None else built


@given(st.lists(st.text()))
def test_any_list_of_words_comes_back_from_its_line(words: list[str]) -> None:
    line = " ".join(map(word, words))
    assert line.isprintable()
    assert split(line) == words


@pytest.mark.parametrize("payload", TEXTS)
def test_no_hostile_text_reaches_the_screen_as_it_is(payload: str) -> None:
    for one in EVERY:
        shown = [to_text(one, payload), to_text(one, [payload]), to_text(one, {"a": payload})]
        assert all(text.isprintable() for text in shown), one.name


def test_defaults_are_those_of_the_declarations_and_of_the_worker() -> None:
    form = train()
    assert form.text(field(form, "data.eval_fraction")) == "0.05"
    assert form.text(field(form, "train.arguments.learning_rate")) == "5e-5"
    assert form.text(field(form, "train.arguments.logging_steps")) == "10"  # the worker's own, not the library's 500
    assert form.choice(field(form, "launch.launcher")) == "python"
    assert new_form("command").choice(field(new_form("command"), "launch.launcher")) == "none"
    assert [one.label for one in form.changes] == ["model", "data"]  # they have no default
    assert not form.faults


def test_a_difference_from_the_default_can_be_taken_back() -> None:
    form = train()
    rate = field(form, "train.arguments.learning_rate")
    changed = form.with_text(rate, "2e-4").with_text(field(form, "data.block_size"), "256")
    assert [one.label for one in changed.changes] == ["model", "data", "block size", "learning rate"]
    back = changed.reset(rate.path).reset(("data", "block_size"))
    assert back.changes == form.changes
    assert "learning_rate" not in back.job["train"]["arguments"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("data.eval_fraction", "1.5", "must be at least 0 and below 1, for example 0.05"),
        ("data.block_size", "abc", "must be a whole number, for example 128"),
        ("data.block_size", "1", "must be at least 2"),
        ("launch.processes", "5000", "must be between 1 and 1024"),
        ("launch.time_limit", "soon", 'expected seconds, or a text such as "2h 30m"'),
        ("train.arguments.learning_rate", "fast", "must be a number, for example 5e-5"),
        ("train.arguments.lr_scheduler_type", "cosinus", "'cosinus' is not known: did you mean 'cosine'?"),
        ("model.path", "", "must not be empty"),
        ("devices", "gaudi:x", "bad device selector 'gaudi:x'"),
        ("launch.env_from", "2BAD", "1: '2BAD' is not the name of a variable"),
        ("launch.env_from", "'open", "a quote is not closed"),
    ],
)
def test_a_wrong_text_stays_and_says_why(name: str, text: str, reason: str) -> None:
    form = train()
    one = field(form, name)
    wrong = form.with_text(one, text)
    assert wrong.faults[name].startswith(reason)
    assert wrong.text(one) == text


def test_every_fault_is_named_not_only_the_first() -> None:
    form = new_form("train").with_value(("train", "arguments"), {"lerning_rate": 1, "max_steps": "x", "use_cpu": True})
    assert set(form.faults) == {
        "model.path", "data.path", "train.arguments.lerning_rate", "train.arguments.max_steps",
        "train.arguments.use_cpu",
    }  # fmt: skip
    assert form.faults["train.arguments.lerning_rate"].endswith("did you mean 'learning_rate'?")
    assert "prompts" in new_form("generate").faults["generate.prompts"]


def test_what_does_not_matter_says_why() -> None:
    form = train()

    def off(changed: Form, name: str) -> str | None:
        return why_off(changed, field(changed, name), CPU)

    assert off(form, "launch.processes") == "python starts one process"
    assert off(form.with_value(("launch", "launcher"), "torchrun"), "launch.processes") is None
    assert off(form, "launch.resume") == "retries is 0"
    assert off(form, "model.revision") == "the model is a folder; revisions are of the hub"
    assert off(form.with_value(("model", "path"), "org/model"), "model.revision") is None
    assert off(form, "train.arguments.hub_model_id") == "nothing is pushed to the hub"
    assert off(form, "train.arguments.use_cpu") == "the device selection decides whether the CPU is used"
    assert off(form.with_value(("data", "eval_path"), "e.txt"), "data.eval_fraction")
    assert off(form.with_value(("train", "arguments", "max_steps"), 60), "train.arguments.num_train_epochs")


def test_choices_that_cannot_be_say_why() -> None:
    form = train(bf16=True)
    fp16 = field(form, "train.arguments.fp16")
    assert why_not_choice(form, fp16, "on", CPU) == "fp16 training does not work on the CPU"
    assert why_not_choice(form, fp16, "on", Setting("hpu")) == "bf16 is on"
    assert why_not_choice(train(), fp16, "on", Setting("xpu")) is None
    assert why_not_choice(form, field(form, "launch.launcher"), "none", CPU)


def test_another_kind_keeps_what_both_have() -> None:
    form = train(max_steps=3).with_value(("launch", "time_limit"), 60.0)
    other = form.with_value(("kind",), "generate")
    assert other.job["model"] == {"path": "/models/tiny"}
    assert other.job["launch"] == {"time_limit": 60.0}
    assert "train" not in other.job
    assert other.job["name"] == "tune"


def test_search_finds_by_name_label_and_help() -> None:
    form = train()
    assert next(iter(form.find("learning rate"))).name == "train.arguments.learning_rate"
    assert "train.arguments.warmup_steps" in [one.name for one in form.find("warmup")]
    assert "launch.env_from" in [one.name for one in form.find("submitting shell")]
    assert not form.find("nothing like this")


def test_secrets_are_masked_and_kept() -> None:
    form = new_form("command").with_value(("command", "argv"), ["prog", "--token", TOKEN, "x"])
    argv = field(form, "command.argv")
    assert form.text(argv) == f"prog --token {MASK} x"
    assert form.with_text(argv, f"prog --token {MASK} y").value(argv.path) == ["prog", "--token", TOKEN, "y"]
    variables = field(form, "launch.env")
    secret = form.with_value(variables.path, {"API_TOKEN": TOKEN})
    assert secret.items(variables) == [f"API_TOKEN={MASK}"]
    assert TOKEN not in str(secret.faults)
    assert "env_from" in secret.faults["launch.env"]
    url = form.with_value(("launch", "cwd"), "https://me:hunter22@host/x")
    assert "hunter22" not in url.text(field(form, "launch.cwd")) + str(url.faults)
