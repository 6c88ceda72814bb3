import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

from langchain_core.messages import HumanMessage, SystemMessage

from memorai_langchain import MemoraiMiddleware, memory_tools

from .agents import THREAD
from .fakes import calls

ASKED = "What is my cat called?"


def test_the_model_is_told_what_is_remembered(agent):
    miso = agent("Miso.")
    assert miso.say(ASKED)["messages"][-1].content == "Miso."
    assert 'speaker="Alice">I adopted a grey cat called Miso.</turn>' in miso.told()


def test_after_the_system_prompt(agent):
    miso = agent("Miso.", system_prompt="Be nice.")
    miso.say(ASKED)
    assert miso.told().startswith("Be nice.\n\nBelow are turns")


def test_blocks_of_a_system_prompt_stay_as_they_are(agent):
    block = {"type": "text", "text": "Be nice.", "cache_control": {"type": "ephemeral"}}
    miso = agent("Miso.", system_prompt=SystemMessage([block]))
    miso.say(ASKED)
    first, second = miso.told()
    assert first == block
    assert "Miso" in second["text"]


def test_nothing_of_it_enters_the_conversation_or_its_checkpoints(agent):
    miso = agent("Yes.")
    out = miso.say("Do I have a cat?")
    assert set(out) == {"messages"}
    assert [message.type for message in out["messages"]] == ["human", "ai"]
    checkpoints = str(list(miso.graph.get_state_history(THREAD)))
    assert "Do I have a cat?" in checkpoints
    assert "Miso" not in checkpoints


def test_a_new_user_s_system_prompt_is_left_alone(agent):
    miso = agent("Hello.", system_prompt="Be nice.")
    miso.say("Hi there", user="new")
    assert miso.told() == "Be nice."


def test_what_stands_in_the_conversation_is_not_repeated(agent):
    miso = agent("Yes.", "Miso.")
    miso.say("I have a cat, a grey cat.")
    miso.say("What cat do I have, a grey cat?")
    assert "I adopted a grey cat called Miso." in miso.told()
    assert "I have a cat" not in miso.told()
    assert "What cat do I have" not in miso.told()


def test_another_thread_is_recalled(agent):
    miso = agent("Oh.", "Blue.")
    miso.say("My bicycle is blue.")
    miso.say("Which colour has my bicycle?", config={"configurable": {"thread_id": "wednesday"}})
    assert "My bicycle is blue." in miso.told()


def test_once_per_message_however_many_steps_the_agent_takes(agent, alice, monkeypatch):
    asked = []
    retrieve = alice.retrieve
    monkeypatch.setattr(alice, "retrieve", lambda query, **options: asked.append(query) or retrieve(query, **options))
    miso = agent(calls("weather", city="Hanoi"), calls("weather", city="Hue"), "Sunny.", "Rainy.")
    miso.say("How is the weather at home?")
    assert asked == ["How is the weather at home?"]
    assert all("Hanoi" in miso.told(call) for call in range(3))
    miso.say("And tomorrow?")
    assert len(asked) == 2


def test_anew_after_the_agent_has_changed_the_memory(agent, alice):
    (turn,) = alice.retrieve("grey cat Miso", user_id="alice", k=1).turns
    miso = agent(calls("forget_memory", turn_ids=[turn.turn_id[:12]]), "Forgotten.", tools=memory_tools(memory=alice))
    miso.say("Forget about my grey cat Miso.")
    assert ["adopted a grey cat" in miso.told(call) for call in range(2)] == [True, False]


def test_what_a_framework_has_put_in_is_no_question(agent):
    miso = agent("Yes.")
    miso.say(ASKED, HumanMessage("Background task finished.", additional_kwargs={"lc_source": "async_subagent"}))
    assert "Miso" in miso.told()


@pytest.mark.parametrize(("options", "turns"), [({"k": 1}, 1), ({"k": 4}, 4), ({"k": 4, "max_tokens": 150}, 2)])
def test_k_and_the_token_limit(agent, alice, options, turns):
    miso = agent("Miso.", middleware=MemoraiMiddleware(memory=alice, **options))
    miso.say(ASKED)
    assert miso.told().count("<turn ") == turns
