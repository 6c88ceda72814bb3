"""A chat with an agent of LangChain's `create_agent`, which knows nothing of earlier conversations.

python langchain_agent_plain.py monday "I have a grey cat called Miso."
"""

import sys

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_model import model
from langgraph.checkpoint.memory import InMemorySaver


def main(session: str, *texts: str) -> None:
    agent = create_agent(model, checkpointer=InMemorySaver())
    for text in texts:
        answer = agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": session}})
        print(answer["messages"][-1].content)


if __name__ == "__main__":
    main(*sys.argv[1:])
