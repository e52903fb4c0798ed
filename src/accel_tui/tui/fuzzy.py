"""Finding entries by letters that occur in their order. Pure."""

from __future__ import annotations


def match(words: str, text: str) -> tuple[float, tuple[int, ...]] | None:
    """How well `words` is found in `text` and where its letters are; None where it is not.

    Larger is better: the letters in one piece, at the beginnings of words, near the front.
    """
    wanted, lower = words.lower().replace(" ", ""), text.lower()
    if not wanted:
        return 0.0, ()
    whole = lower.find(words.lower().strip())
    if whole >= 0:
        bonus = 30.0 if whole == 0 or not lower[whole - 1].isalnum() else 10.0
        return 100 + bonus - whole * 0.1 - len(text) * 0.01, tuple(range(whole, whole + len(words.strip())))
    places: list[int] = []
    at = -1
    for letter in wanted:
        at = _next(lower, letter, at + 1, places)
        if at < 0:
            return None
        places.append(at)
    starts = sum(place == 0 or not lower[place - 1].isalnum() for place in places)
    spread = places[-1] - places[0]
    return 20 + 6 * starts - 0.5 * spread - 0.01 * len(text), tuple(places)


def _next(text: str, letter: str, start: int, places: list[int]) -> int:
    """The next place of a letter: right behind the last one, else at the beginning of a word, else anywhere."""
    if places and start < len(text) and text[start] == letter:
        return start
    at = start
    while (at := text.find(letter, at)) >= 0:
        if at == 0 or not text[at - 1].isalnum():
            return at
        at += 1
    return text.find(letter, start)
