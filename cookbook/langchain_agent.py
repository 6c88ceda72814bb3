"""The same chat with a long-term memory: five lines changed.

python langchain_agent.py monday "I have a grey cat called Miso."
python langchain_agent.py tuesday "What is my cat called?"
"""

import sys

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_model import model
from langgraph.checkpoint.memory import InMemorySaver

from memorai_core import Memory
from memorai_langchain import MemoraiMiddleware


def main(session: str, *texts: str) -> None:
    memory = Memory.open("memory.db")
    agent = create_agent(model, middleware=[MemoraiMiddleware(memory=memory, user_id="alice")], checkpointer=InMemorySaver())
    for text in texts:
        answer = agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": session}})
        print(answer["messages"][-1].content)
    memory.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
