"""`memorai export`: a user's memory as a graph, for other programs."""

import json as jsonlib
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorai_core.cli.options import AsJson, Database, User, open_memory
from memorai_core.cli.output import console, counted, print_json, print_text
from memorai_core.errors import ConfigurationError

if TYPE_CHECKING:
    from networkx import MultiDiGraph

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Form(StrEnum):
    """The files a graph can be written as."""

    JSON = "json"
    GRAPHML = "graphml"


def export(
    db: Database,
    user: User,
    format: Annotated[Form, typer.Option("--format", help="json is networkx's node-link form.")] = Form.JSON,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="By default, standard output.")] = None,
    json: AsJson = False,
) -> None:
    """Write a user's turns, segments, entities and triplets as a graph, with all provenance as attributes."""
    if json and output is None and format is not Form.JSON:
        raise typer.BadParameter(f"--json and --format {format} both want standard output; give --output FILE")
    with open_memory(db) as memory:
        graph = memory.graph(user_id=user)
    text = _as_graphml(graph) if format is Form.GRAPHML else _as_json(graph)
    if output is None:
        print_text(text)
        return
    try:
        output.write_text(text, encoding="utf-8", newline="\n")
    except OSError as failed:
        raise ConfigurationError(f"{output}: cannot be written ({failed.strerror or failed})") from failed
    if json:
        print_json({"path": str(output), "format": format.value, "nodes": len(graph), "edges": graph.number_of_edges()})
    else:
        console().print(f"{output}: {counted(len(graph), 'node')}, {counted(graph.number_of_edges(), 'edge')}")


def _as_json(graph: "MultiDiGraph[str]") -> str:
    from networkx import node_link_data

    return jsonlib.dumps(node_link_data(graph, edges="edges"), ensure_ascii=False, indent=1) + "\n"


def _as_graphml(graph: "MultiDiGraph[str]") -> str:
    """GraphML knows neither lists nor null, and wants edge ids unique: lists become JSON texts, null is left out."""
    from networkx import MultiDiGraph, generate_graphml

    plain: MultiDiGraph[str] = MultiDiGraph()
    for node, attributes in graph.nodes(data=True):
        plain.add_node(node, **_scalars(attributes))
    for source, target, key, attributes in graph.edges(keys=True, data=True):
        plain.add_edge(source, target, key=f"{source}-{key}-{target}", **_scalars(attributes))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(generate_graphml(plain)) + "\n"


def _scalars(attributes: dict[str, object]) -> dict[str, bool | int | float | str]:
    """Attributes as GraphML holds them; characters that XML has no form for become U+FFFD."""
    found: dict[str, bool | int | float | str] = {}
    for name, value in attributes.items():
        if isinstance(value, bool | int | float):
            found[name] = value
        elif value is not None:
            text = value if isinstance(value, str) else jsonlib.dumps(value, ensure_ascii=False)
            found[name] = _NOT_XML.sub("\ufffd", text)
    return found
