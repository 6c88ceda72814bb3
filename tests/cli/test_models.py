"""`--model` and `ask` against a server that speaks the OpenAI protocol on loopback."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from .running import inside, process

pytest.importorskip("langchain_openai", reason="needs the extra [models]")

MEMORY = {
    "kept": [1],
    "summary": "Alice tells that she moved to Hanoi.",
    "triplets": [{"subject": "Alice", "relation": "moved_to", "object": "Hanoi", "description": "Alice moved to Hanoi.", "turns": [1]}],
    "entities": [{"name": "Hanoi", "description": "The city that Alice moved to.", "turns": [1]}],
}


class _Server(BaseHTTPRequestHandler):
    asked: list[dict[str, object]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        self.asked.append({"path": self.path, "model": body["model"], "key": self.headers["Authorization"], "prompt": prompt})
        said = json.dumps({"starts": [1]}) if '"starts"' in prompt else json.dumps(MEMORY) if '"kept"' in prompt else "In Hanoi [1]."
        reply = {
            "id": "1", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }  # fmt: skip
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, object]]]:
    received: list[dict[str, object]] = []
    handler = type("Handler", (_Server,), {"asked": received})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-secret")
        monkeypatch.setenv("LANGSMITH_TRACING", "false")
        yield received
        server.shutdown()


def test_a_model_by_name_indexes_and_answers(tmp_path: Path, asked: list[dict[str, object]]) -> None:
    chat, db = tmp_path / "chat.jsonl", str(tmp_path / "m.db")
    chat.write_text(json.dumps({"role": "user", "name": "Alice", "content": "I moved to Hanoi in March.", "id": "m1"}), encoding="utf-8")
    report = inside("ingest", str(chat), "--db", db, "--user", "alice", "--model", "openai:any", "--json").json["index"]
    assert (report["calls"], report["input_tokens"], report["output_tokens"]) == (len(asked), 7 * len(asked), 3 * len(asked))
    assert {(one["path"], one["model"], one["key"]) for one in asked} == {("/v1/chat/completions", "any", "Bearer not-a-secret")}
    assert report["rejected"] == {}

    found = inside("search", "Where does Alice live?", "--db", db, "--user", "alice", "--json").json
    assert "model" in {triplet["origin"] for triplet in found["turns"][0]["triplets"]}

    answer = inside("ask", "Where does Alice live?", "--db", db, "--user", "alice", "--model", "openai:any", "--json").json
    assert answer["text"] == "In Hanoi [1]."
    assert [cited["source_id"] for cited in answer["citations"]] == ["m1"]
    assert "I moved to Hanoi in March." in str(asked[-1]["prompt"])


@pytest.mark.parametrize(("name", "said"), [("gpt", "PROVIDER:NAME"), ("nobody:gpt", "nobody")])
def test_a_model_that_is_not_there_is_a_clear_error(tmp_path: Path, name: str, said: str) -> None:
    chat, db = tmp_path / "chat.jsonl", tmp_path / "m.db"
    chat.write_text(json.dumps({"role": "user", "content": "I moved to Hanoi.", "id": "m1"}), encoding="utf-8")
    done = process("ingest", chat, "--db", db, "--model", name)
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
