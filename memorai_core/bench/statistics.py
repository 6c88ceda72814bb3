"""What a data set consists of (Table 9)."""

import re
from collections import Counter

from memorai_core.bench.datasets import Dataset
from memorai_core.bench.figures import Figures
from memorai_core.bench.units import lay_out

TOKEN = re.compile(r"\w+|[^\w\s]")
"""Words and punctuation marks, which are a little fewer than a language model's tokens."""


def statistics(dataset: Dataset, limit: int | None = None) -> Figures:
    """Counts over the whole file, and means a conversation."""
    totals: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    excluded: Counter[str] = Counter()
    for case in dataset.cases(limit):
        layout = lay_out(case.conversation)
        totals["conversations"] += 1
        totals["sessions"] += layout.count("session")
        totals["turns"] += len(layout.messages)
        totals["empty turns"] += sum(not message.text.strip() for message in layout.messages)
        totals["undated turns"] += sum(message.timestamp is None for message in layout.messages)
        totals["tokens"] += sum(len(TOKEN.findall(message.text)) for message in layout.messages)
        totals["questions"] += len(case.questions)
        totals["to abstain from"] += sum(question.abstain for question in case.questions)
        for question in case.questions:
            categories[question.category] += 1
            excluded[question.category] += not question.evidence
            totals["evidence turns"] += len(question.evidence)
    conversations = totals["conversations"] or 1
    return {
        "dataset": dataset.name,
        "data_sha256": dataset.sha256,
        "settings": {"command": "stats", "data": dataset.path.name, "limit": limit, "tokens": "words and punctuation marks"},
        "totals": {**totals},
        "per_conversation": {name: round(totals[name] / conversations, 1) for name in ("sessions", "turns", "tokens", "questions")},
        "categories": {name: {"questions": count, "without_evidence": excluded[name]} for name, count in sorted(categories.items())},
    }
