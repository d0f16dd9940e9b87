"""Blocks of shell commands in Markdown pages, with the comments that say how to run them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARKER = re.compile(r"^<!--\s*(not run|run)\s*(?::\s*(.*?))?\s*-->$")
KINDS = {"", "service", "fails", "terminal"}


@dataclass
class Block:
    page: Path
    line: int
    text: str
    kind: str = ""
    # Why it is not run.
    reason: str | None = None
    # (prompt, answer) in order.
    dialogue: list = field(default_factory=list)

    @property
    def place(self):
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def all_pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page):
    """The blocks of a page, in order."""
    found, fence, marker = [], None, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        stripped = line.strip()
        if fence is None:
            if stripped == "```sh":
                fence = Block(page, number, "")
                apply(fence, marker)
            elif stripped.startswith("```"):
                fence = False
            marker = stripped if MARKER.match(stripped) else None
        elif stripped == "```":
            if fence:
                found.append(fence)
            fence, marker = None, None
        elif fence:
            fence.text += line + "\n"
    assert fence is None, f"{page}: a block is not closed"
    return found


def apply(block, marker):
    if marker is None:
        return
    verb, words = MARKER.match(marker).groups()
    words = words or ""
    if verb == "not run":
        assert words, f"{block.place}: `not run` needs a reason"
        block.reason = words
        return
    kind, *pairs = [part.strip() for part in words.split(";")]
    assert kind in KINDS, f"{block.place}: no runner for {kind!r}"
    block.kind = kind
    for pair in pairs:
        prompt, separator, answer = pair.partition("=>")
        assert separator, f"{block.place}: {pair!r} is not PROMPT => ANSWER"
        block.dialogue.append((prompt.strip(), answer.strip()))
    assert bool(block.dialogue) == (kind == "terminal"), f"{block.place}: a terminal needs a dialogue, others have none"
