"""The API reference as a page: FastAPI's own would load scripts from another host."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from prism_mt.report.page import render_docs

_CURL = "curl -s {url} -H 'Content-Type: application/json' -d '{body}'"
_EXAMPLES = {
    "/score": '{"cand": ["Hello world!"], "ref": ["Hello, world."], "lang": "en", "metrics": ["prism-ref", "chrf"]}',
    "/report": '{"systems": {"A": ["Hello world!"], "B": ["Hi world!"]}, "ref": ["Hello, world."], "lang": "en"}',
}


def docs_page(description: Mapping[str, Any], address: str) -> str:
    """Make the page of an OpenAPI description; examples ask the server at this address."""
    return render_docs([_operation(path, *one, address) for path, one in _operations(description)])


def _operations(description: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    for path, methods in description["paths"].items():
        yield from ((path, one) for one in methods.items())


def _operation(path: str, method: str, described: Mapping[str, Any], address: str) -> dict[str, Any]:
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    required = body.get("required", [])
    example = _EXAMPLES.get(path)
    url = f"{address.rstrip('/')}{path}"
    return {
        "method": method.upper(),
        "path": path,
        "about": described.get("description") or described.get("summary", ""),
        "fields": [_field(name, one, name in required) for name, one in body.get("properties", {}).items()],
        "example": _CURL.format(url=url, body=example) if example else f"curl -s {url}",
        "answers": [(status, one["description"]) for status, one in described["responses"].items()],
    }


def _field(name: str, schema: Mapping[str, Any], required: bool) -> dict[str, str]:
    default = "required" if required else _written(schema.get("default"))
    return {"name": name, "type": _type(schema), "default": default, "about": schema.get("description", "")}


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array":
        return f"list of {_plural(_type(schema.get('items', {})))}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"object of {_plural(_type(values))}"
    return {"boolean": "true or false"}.get(str(schema.get("type")), str(schema.get("type", "value")))


def _plural(kind: str) -> str:
    return kind.replace("list of", "lists of", 1) if kind.startswith("list of") else f"{kind}s"


def _written(value: object) -> str:
    return "" if value is None else json.dumps(value)
