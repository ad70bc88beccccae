"""The interface described for people."""

from prism_mt.serve.docs import docs_page

FIELDS = {
    "cand": {"type": "array", "items": {"type": "string"}, "description": "outputs <b>"},
    "lang": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "de"},
    "tokens": {"type": "boolean", "default": False},
}
SCORE = {
    "description": "Scores.",
    "requestBody": {"content": {"application/json": {"schema": {"properties": FIELDS, "required": ["cand"]}}}},
    "responses": {"200": {"description": "fine"}},
}


def test_fields_are_described_and_escaped() -> None:
    html = docs_page({"paths": {"/score": {"post": SCORE}}}, "http://localhost:1/")
    assert "<code>POST /score</code>" in html
    assert "list of strings</td><td>required</td>" in html
    assert "outputs &lt;b&gt;" in html
    assert "string</td><td>&#34;de&#34;</td>" in html
    assert "true or false</td><td>false</td>" in html
    assert "curl -s http://localhost:1/score -H" in html
    assert "200: fine." in html
