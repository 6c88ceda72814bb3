import asyncio

from memorai_core.bench.inspection import InspectedChatModel
from memorai_core.flow import Prompt, Reply
from memorai_core.judging import judge_prompt


class Said:
    def __init__(self, *texts):
        self.texts = texts

    def generate(self, prompts):
        return [Reply(text) for text in self.texts]

    async def agenerate(self, prompts):
        return self.generate(prompts)


REPLIES = (
    '{"reason": "it is so", "right": true}',
    '```json\n{"reason": "it is so", "right": true}\n```',
    "{'reason': 'it is so', 'right': true}",
    '{"reason": "it is so"}',
    "I cannot say.",
    "",
)


def test_replies_are_counted_as_they_stand_and_after_repair():
    model = InspectedChatModel(Said(*REPLIES))
    prompts = [judge_prompt("q", "r", "a")] * len(REPLIES)
    assert [reply.text for reply in model.generate(prompts)] == list(REPLIES)
    assert (model.structured, model.malformed) == (6, 5)
    assert model.refused == {"judge:unfit": 1, "judge:unreadable": 1, "judge:empty": 1}
    asyncio.run(model.agenerate(prompts))
    assert model.structured == 12


def test_free_text_is_not_counted():
    model = InspectedChatModel(Said("anything"))
    model.generate([Prompt("q", "answer", "1")])
    assert (model.structured, model.malformed) == (0, 0)
