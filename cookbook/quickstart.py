"""Remember a conversation, look something up in it, and see where each line of the answer comes from."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from memorai_core import Memory, render_prompt
from memorai_core.formats import read_conversations

DATA = Path(__file__).parent / "data"


def main(db: Path) -> None:
    with Memory.open(db) as memory:
        # Write: turns are safe as soon as append returns, and are worked into the graph by index.
        for conversation in read_conversations(DATA / "two_friends.jsonl"):
            for session in conversation.sessions:
                memory.append(session.messages, user_id="ines", session_id=session.session_id)
        report = memory.index(user_id="ines")
        print(f"{report.turns} turns, {report.segments} segments, {report.triplets} triplets in {report.seconds:.1f} s")

        # Read: ranked turns, each with its date, its speaker and the triplets that rest on it.
        questions = [asked["question"] for asked in json.loads((DATA / "two_friends.questions.json").read_text(encoding="utf-8"))]
        for question in questions:
            print(f"\n{question}")
            for turn in memory.retrieve(question, user_id="ines", k=4).turns:
                print(f"  {turn.score:.3f}  {turn.source_id}  {turn.timestamp:%d %b %Y}  {turn.speaker}: {turn.text}")
                for triplet in turn.triplets[:2]:
                    print(f"         {triplet.subject} - {triplet.relation} - {triplet.object}")

        # Why the first turn stands first, and what a chat model would be given.
        evidence = memory.retrieve(questions[0], user_id="ines", k=4)
        print(f"\nWhy the first turn stands first for: {questions[0]}")
        for part in memory.explain(evidence, evidence.turns[0].turn_id).contributions[:4]:
            print(f"  {part.amount:.3f}  {part.kind}  {part.label}")
        print(f"\n{render_prompt(evidence, questions[0])}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "memory.db")
