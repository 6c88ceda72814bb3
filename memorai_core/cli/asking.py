"""`memorai ask`: an answer from what is remembered, by a chat model."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from memorai_core.cli.options import AsJson, Database, User, open_memory
from memorai_core.cli.output import console, indented, plain, print_json
from memorai_core.cli.reading import found


def ask(
    question: Annotated[str, typer.Argument(help="What to answer, in plain words.")],
    db: Database,
    user: User,
    model: Annotated[str, typer.Option("--model", metavar="PROVIDER:NAME", help="Which chat model answers, as in openai:gpt-4o-mini.")],
    json: AsJson = False,
) -> None:
    """Answer a question from what is remembered, with the turns that the answer rests on."""
    with open_memory(db, model=model) as memory:
        answer = memory.answer(question, user_id=user, now=datetime.now(UTC))
    cited = [turn for turn in answer.evidence.turns if turn.turn_id in answer.citations]
    if json:
        print_json(
            {
                "question": question,
                "text": answer.text,
                "abstained": answer.abstained,
                "citations": [{"turn_id": turn.turn_id, "source_id": turn.source_id} for turn in cited],
                "unknown_citations": answer.unknown_citations,
            }
        )
        return
    out = console()
    out.print(plain(answer.text), "", sep="\n")
    for number, turn in enumerate(answer.evidence.turns, start=1):
        if turn.turn_id in answer.citations:
            out.print(*found(number, turn), "", sep="\n")
    if answer.unknown_citations:
        out.print(indented(Text(f"It cites what was not there: {', '.join(map(str, answer.unknown_citations))}", style="red"), 0))
