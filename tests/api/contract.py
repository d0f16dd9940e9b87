"""The names of the REST contract, read from the fact table that the api crate keeps."""

from dataclasses import dataclass
from functools import cache

from muster import ROOT

FACTS = ROOT / "crates" / "api" / "contract" / "facts.tsv"


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str


@cache
def _facts():
    lines = FACTS.read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def _rows(kind):
    return [row[1:] for row in _facts() if row[0] == kind]


def operations():
    """All operations, methods in lower case."""
    return [Operation(name, method.lower(), path) for name, method, path in _rows("operation")]


def parameters():
    """(operation id, name, place, required) of every parameter."""
    return [(op, name, place, need == "required") for op, name, place, need in _rows("parameter")]


def definitions():
    return [name for (name,) in _rows("definition")]


def properties():
    """(definition, property) of every named member."""
    return [(definition, name) for definition, name in _rows("property")]
