"""One job as a form: values by path, differences from the default, every fault with its reason, search."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from accel_tui.jobs import arguments, kinds
from accel_tui.jobs.faults import JobFieldError, field_errors
from accel_tui.jobs.forms.fields import Field, Path, Shape, fields_of
from accel_tui.jobs.forms.texts import from_text, item_text, to_text, with_item
from accel_tui.jobs.literals import find_secret
from accel_tui.jobs.spec import parse_job
from accel_tui.model.secrets import mask

if TYPE_CHECKING:
    from accel_tui.jobs.spec import Job

_SHARED = ("name", "devices", "launch", "model", "data")
"""What stays when the kind changes, as far as both kinds have it."""


@dataclass(frozen=True)
class Form:
    """The fields of a kind with the values of one job. Every change makes a new form; what is wrong stays as typed."""

    job: Mapping[str, Any]
    """JSON values as `parse_job` takes them; it need not be valid."""

    @property
    def kind(self) -> str:
        return str(self.job.get("kind"))

    @functools.cached_property
    def fields(self) -> tuple[Field, ...]:
        """Raises JobFieldError where there is no such kind."""
        return fields_of(self.kind)

    @functools.cached_property
    def declared(self) -> type[Job]:
        found = kinds.declaration(self.kind)
        if found is None:
            raise JobFieldError.unknown_value(("kind",), self.kind, kinds.names())
        return found

    def field(self, path: Path) -> Field | None:
        return next((field for field in self.fields if field.path == path), None)

    # Values

    def value(self, path: Path) -> Any:
        """The value that holds at `path`: the job's own, else the default."""
        found, given = self._look(path)
        if given:
            return found
        field = self.field(path)
        return None if field is None else field.default

    def given(self, path: Path) -> bool:
        """Whether the job says something there, be it the default."""
        found, given = self._look(path)
        return given and found is not None

    def _look(self, path: Path) -> tuple[Any, bool]:
        table: Any = self.job
        for part in path:
            if not isinstance(table, Mapping) or part not in table:
                return None, False
            table = table[part]
        return table, True

    @property
    def launcher(self) -> str:
        """The launcher that starts it."""
        return str(self.value(("launch", "launcher")) or self.declared.default_launcher)

    def text(self, field: Field) -> str:
        """The value as a person types it."""
        return to_text(field, self.value(field.path))

    def choice(self, field: Field) -> str:
        """The choice that is in force: `on`, `off` or a name; empty where that is not known."""
        value = self.value(field.path)
        if field.name == "launch.launcher" and value is None:
            return self.launcher
        return to_text(field, value)

    def items(self, field: Field) -> list[str]:
        """The texts of the rows of a list or table."""
        value = self.value(field.path)
        count = len(value) if isinstance(value, (list, Mapping)) else 0
        return [item_text(field, value, number) for number in range(count)]

    # Changes

    def with_value(self, path: Path, value: Any) -> Form:
        """With another value; `kind` brings the fields of that kind."""
        if path == ("kind",):
            return self.with_kind(str(value))
        return replace(self, job=_put(self.job, path, value))

    def with_text(self, field: Field, text: str) -> Form:
        """With what the text writes; an empty one is the default, where there is one."""
        value = from_text(field, text, self.value(field.path))
        return self.reset(field.path) if value is None else self.with_value(field.path, value)

    def with_item(self, field: Field, number: int, text: str) -> Form:
        """With one row of a list or table written anew, added or, with an empty text, taken out."""
        return self.with_value(field.path, with_item(field, self.value(field.path), number, text))

    def with_choice(self, field: Field, choice: str) -> Form:
        """With one of the choices, or `on` and `off`."""
        value = {"on": True, "off": False}.get(choice, choice) if field.shape is Shape.FLAG else choice
        return self.with_value(field.path, value)

    def reset(self, path: Path) -> Form:
        """With the default again; an argument of a library is taken out."""
        field = self.field(path)
        if field is None or field.library is not None:
            return replace(self, job=_take(self.job, path))
        if path == ("kind",) or (field.required and field.default is None):
            return self
        return replace(self, job=_put(self.job, path, field.default))

    def with_kind(self, kind: str) -> Form:
        """A job of another kind with what both share."""
        names = kinds.declaration(kind)
        if names is None or kind == self.kind:
            return self
        kept = {name: self.job[name] for name in _SHARED if name in self.job and name in names.model_fields}
        if kept.get("name") == self.kind:
            kept["name"] = kind
        return Form({**kept, "kind": kind})

    # Differences and faults

    def changed(self, field: Field) -> bool:
        """Whether it differs from its default; what has none is not counted."""
        if field.path in (("kind",), ("name",)) or not self.given(field.path):
            return False
        return self.value(field.path) != field.default or (field.library is not None and field.default is None)

    @functools.cached_property
    def changes(self) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if self.changed(field))

    @functools.cached_property
    def faults(self) -> Mapping[str, str]:
        """What is wrong, by the dotted path of the field, or of what is no field; an item's number stands before."""
        found: dict[str, str] = {}
        for error in self._errors():
            field = self._owner(error.path)
            name = ".".join(map(str, error.path)) if field is None else field.name
            found.setdefault(name, _sentence(error, field, self))
        return found

    def _errors(self) -> Iterator[JobFieldError]:
        secret = find_secret(dict(self.job))
        if secret is not None:
            yield JobFieldError(secret.path, secret.reason, remedy=secret.remedy, kind="secret")
        yield from self._library_errors()
        try:
            self.declared.model_validate(self._complete())
        except ValidationError as error:
            yield from field_errors(self.declared, error)

    def _library_errors(self) -> Iterator[JobFieldError]:
        """Each argument of a library by itself: validation as a whole names the first one alone."""
        tables = {field.path[:-1]: field.library for field in self.fields if field.library is not None}
        for path, library in tables.items():
            given = self.value(path)
            for name, value in given.items() if isinstance(given, Mapping) else ():
                try:
                    arguments.checked(library, {name: value})
                except JobFieldError as error:
                    yield JobFieldError((*path, name), error.reason, remedy=error.remedy, kind=error.kind)

    def _complete(self) -> dict[str, Any]:
        """The job with the tables that it leaves out, so that the missing field is named instead of its table."""
        tables = {field.path[0] for field in self.fields if len(field.path) > 1}
        return {**{name: {} for name in tables}, **self.job}

    def _owner(self, path: tuple[str | int, ...]) -> Field | None:
        """The field that a fault lies in; the first one that is needed where a whole table is missing."""
        names = tuple(str(part) for part in path)
        for length in range(len(names), 0, -1):
            found = self.field(names[:length])
            if found is not None:
                return found
        return next((field for field in self.fields if field.required and field.path[: len(names)] == names), None)

    def checked(self) -> Job:
        """The job.

        Raises:
            JobFieldError: the first field that is wrong.
        """
        return parse_job(self._complete())

    # Finding

    def find(self, words: str) -> tuple[Field, ...]:
        """The fields that hold every word in label, path or help, those with all of them in label or path first."""
        wanted = words.lower().split()
        near = [field for field in self.fields if all(word in f"{field.label} {field.name}".lower() for word in wanted)]
        rest = [
            field for field in self.fields
            if field not in near and all(word in f"{field.label} {field.name} {field.help}".lower() for word in wanted)
        ]  # fmt: skip
        return (*near, *rest)


_EXAMPLES = {Shape.WHOLE: "4", Shape.NUMBER: "0.1"}


def new_form(kind: str) -> Form:
    """An empty job of a kind."""
    return Form({"name": kind, "kind": kind})


def _sentence(error: JobFieldError, field: Field | None, form: Form) -> str:
    """Reason and remedy as one line without secrets."""
    reason = error.reason
    place = error.path[len(field.path)] if field is not None and len(error.path) > len(field.path) else None
    if field is not None and field.shape is Shape.WORDS and isinstance(form.value(field.path), str):
        reason = "a quote is not closed"
    elif field is not None and error.kind == "type" and field.shape in _EXAMPLES and place is None:
        example = _EXAMPLES[field.shape] if field.default in (None, 0) else to_text(field, field.default)
        return f"must be a {field.shape.value}, for example {example}"
    elif place is not None and field is not None:
        reason = f"{place + 1 if isinstance(place, int) else place}: {reason}"
    return mask(reason if error.remedy is None else f"{reason}: {error.remedy}")


def _put(table: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    inner = table.get(path[0])
    below = inner if isinstance(inner, Mapping) else {}
    return {**table, path[0]: value if len(path) == 1 else _put(below, path[1:], value)}


def _take(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if len(path) == 1 or not isinstance(table.get(path[0]), Mapping):
        return {name: value for name, value in table.items() if name != path[0] or len(path) > 1}
    return {**table, path[0]: _take(table[path[0]], path[1:])}
