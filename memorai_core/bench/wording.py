"""How close a response's words are to a reference answer's, in percent."""

import re
import string
from collections import Counter
from collections.abc import Sequence

from memorai_core.bench.extras import require

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
CITATION = re.compile(r"\s*\[[\d\s,;–-]+\]")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def wording(responses: Sequence[str], references: Sequence[str], *, bertscore: bool = False) -> list[dict[str, float]]:
    """F1, BLEU, ROUGE-1, -2 and -L, and where asked BERTScore, of each response; citations like [1] are left out."""
    responses = [CITATION.sub("", response).strip() for response in responses]
    bleu = require("sacrebleu").BLEU(effective_order=True)
    rouge = require("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    scores: list[dict[str, float]] = []
    for response, reference in zip(responses, references, strict=True):
        found = rouge.score(reference, response)
        scores.append(
            {
                "f1": token_f1(response, reference),
                "bleu": float(bleu.sentence_score(response, [reference]).score),
                **{name: 100.0 * float(one.fmeasure) for name, one in found.items()},
            }
        )
    bert = require("bert_score", "bertscore") if bertscore else None
    if bert and responses:
        _, _, closeness = bert.score(list(responses), list(references), lang="en")
        for one, value in zip(scores, closeness.tolist(), strict=True):
            one["bertscore"] = 100.0 * float(value)
    return scores


def token_f1(response: str, reference: str) -> float:
    """The harmonic mean of precision and recall over words, without case, punctuation and articles."""
    given, wanted = _words(response), _words(reference)
    common = sum((Counter(given) & Counter(wanted)).values())
    if not common:
        return 100.0 if given == wanted else 0.0
    precision, recall = common / len(given), common / len(wanted)
    return 200.0 * precision * recall / (precision + recall)


def _words(text: str) -> list[str]:
    return ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split()
